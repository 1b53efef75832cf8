-- sql/postgres/tables/FeedDatabase.v1.sql: which database this is, in one row: a token of the feed is refused by another one. It goes along with
-- a dump or a copy: who has read from this one goes on there, as long as the history is the same (invariant 9).
CREATE TABLE dms.FeedDatabase (
    DatabaseUuid uuid        NOT NULL CONSTRAINT PK_FeedDatabase PRIMARY KEY,
    CreatedAt    timestamptz NOT NULL
);
INSERT INTO dms.FeedDatabase (DatabaseUuid, CreatedAt) VALUES (gen_random_uuid(), clock_timestamp());
COMMENT ON TABLE dms.FeedDatabase IS 'dmsjournal: which database the tokens of the feed belong to';
-- drop: DROP TABLE dms.FeedDatabase;
