"""What verify can find: a code for each thing that should not be, what it means and what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a finding means, what to do about it, and whether repair does it."""

    meaning: str
    remedy: str
    is_repaired: bool = True


MEANINGS = {
    "trigger-missing": Meaning("A trigger is missing: what was written meanwhile is not journaled.", "repair makes it again"),
    "trigger-disabled": Meaning(
        "A trigger is disabled: what was written meanwhile is not journaled.", "repair makes it anew, enabled"
    ),
    "trigger-altered": Meaning("A trigger is not as shipped, or fires at other times.", "repair makes it anew"),
    "order-missing": Meaning(
        "A trigger of an option may fire before TR_Document_Delete: what deletes leave of images and contexts is lost.",
        "repair sets it first (sp_settriggerorder)",
    ),
    "order-altered": Meaning(
        "TR_Document_Delete is the first to fire for another statement than DELETE.", "repair sets it first (sp_settriggerorder)"
    ),
    "adopted-trigger": Meaning(
        "A trigger that the adoption made for its programs is missing or disabled: what they wrote meanwhile is not journaled.",
        "ALTER TABLE … ENABLE TRIGGER, or dmsjournal adopt --content-column …, or adopt/names.sql; then signal what changed",
        False,
    ),
    "routine-missing": Meaning("A function or procedure is missing.", "repair makes it again"),
    "routine-altered": Meaning(
        "A function or procedure is not as shipped, in its text, rights or settings.",
        "repair makes it anew; roles keep their rights",
    ),
    "view-missing": Meaning("The view is missing.", "repair makes it again; run grants.sql afterwards"),
    "view-altered": Meaning("The view is not as shipped.", "repair replaces it"),
    "table-missing": Meaning(
        "A table is missing: nothing else was looked at.",
        "restore schema dms as a whole, or dmsjournal downgrade and upgrade",
        False,
    ),
    "object-missing": Meaning(
        "The database says that something that a check reads is not there: rows were looked at no further.",
        "restore schema dms as a whole, or what the finding names; repair makes a missing routine, trigger or view again",
        False,
    ),
    "rows-hidden": Meaning(
        "Row level security hides rows of a table from the role that verifies: nothing else was looked at.",
        "verify as the installing role; as that role, ALTER TABLE … DISABLE ROW LEVEL SECURITY, or give the reader BYPASSRLS",
        False,
    ),
    "table-altered": Meaning(
        "A table is such that rows are lost in a crash, or written or hidden past the triggers, or that a publication makes its "
        "changes fail.",
        "as the installing role: SET LOGGED, NO FORCE and DISABLE ROW LEVEL SECURITY, NO INHERIT, DROP RULE, DROP POLICY "
        "(SQL Server: DROP SECURITY POLICY), another name for the trigger, or REPLICA IDENTITY DEFAULT (FULL for "
        "MaxDepIdentityPending), as the state says",
        False,
    ),
    "index-missing": Meaning(
        "An index is missing: answers are right and slow.",
        "create it as sql/<engine>/tables/ has it, without blocking writers",
        False,
    ),
    "option-unfilled": Meaning(
        "An option that was added to documents is not filled yet, or its index was dropped: answers are right, and as without it.",
        "dmsjournal fill max_dep_identity_version",
        False,
    ),
    "index-altered": Meaning(
        "An index is not valid or disabled, so it is not used, or it is not defined as shipped.",
        "rebuild it, without blocking writers; one of another definition goes first (DROP INDEX, as the installing role)",
        False,
    ),
    "column-altered": Meaning(
        "A column of ours has another type, is generated, or its default is missing or calls what is not the server's own.",
        "as the installing role: ALTER TABLE … ALTER COLUMN, as sql/postgres/tables/ has it",
        False,
    ),
    "constraint-missing": Meaning("A key or check is missing.", "add it as sql/<engine>/tables/ has it", False),
    "constraint-altered": Meaning(
        "A key or check is disabled or not validated, or it is not defined as shipped.",
        "repair validates it, after the edges; on PostgreSQL it enables a foreign key's triggers where a superuser runs it (ALTER "
        "TABLE … ENABLE TRIGGER ALL). If it stays, rows break it: mend those, then VALIDATE CONSTRAINT. One of another definition: "
        "as the installing role, DROP CONSTRAINT and add it as sql/<engine>/tables/ has it",
    ),
    "sequence-missing": Meaning("The sequence is missing: every write fails.", "restore schema dms as a whole", False),
    "sequence-altered": Meaning(
        "The sequence does not rise by 1, ends or starts over, or is cached for each session.", "repair sets it right"
    ),
    "owner-differs": Meaning(
        "The schema or an object in it belongs to another role than the installing one, which can replace it: nothing of the "
        "schema was run or read.",
        "read it, then drop it, or ALTER … OWNER TO the installing role, as a superuser; where it is so on purpose, verify --trust",
        False,
    ),
    "object-foreign": Meaning(
        "An object runs or means what another role made, or is not what a migration makes under its name: nothing of the schema "
        "was run or read.",
        "drop it, as the installing role or a superuser; where it is so on purpose, verify --trust",
        False,
    ),
    "schema-open": Meaning(
        "Another role may create objects in schema dms: a function or a type of its own may be taken for one of ours.",
        "REVOKE CREATE ON SCHEMA dms, as the installing role; where it is so on purpose, verify --trust 'schema dms'",
        False,
    ),
    "table-open": Meaning(
        "Another role may create triggers on a table of schema dms. Such a trigger runs its code as the roles that write there.",
        "REVOKE TRIGGER ON the table, as the installing role; where it is so on purpose, verify --trust",
        False,
    ),
    "right-missing": Meaning(
        "A role may read the journals, and may not call a function that each read calls: its reads fail.",
        "run grants.sql for the role (docs/dba/roles.md), or GRANT EXECUTE ON FUNCTION as the name says",
        False,
    ),
    "option-off": Meaning(
        "The server option is off: edges do not stamp their parents.", "sp_configure 'nested triggers', 1", False
    ),
    "partition-altered": Meaning(
        "A journal or a part of it is not as option partitions makes it: events may be refused there, or read slowly.",
        "dmsjournal partitions ensure makes a default part; else ATTACH, CREATE TRIGGER or REINDEX as the name says",
        False,
    ),
    "part-missing": Meaning(
        "A part of a journal was detached or dropped by hand: readers are refused what it held.",
        "attach it again with its bounds, where it is still there; else repair raises the journal's floor: consumers read in full",
    ),
    "sequence-behind": Meaning(
        "The sequence is below what it has given: it gives stamps again, which consumers have passed.",
        "repair raises it; find out who set it back",
    ),
    "floor-missing": Meaning(
        "A journal has no floor: what was pruned is not known.", "repair expires the journal: consumers read in full"
    ),
    "floor-contradicted": Meaning("There are events at or below a floor that says they were pruned.", "repair removes them"),
    "feed-altered": Meaning(
        "What tells feeds which database this is, or its buckets, is incomplete: feeds are refused, or read wrong parts.",
        "restore the rows of the table; without them, insert them as sql/<engine>/tables/ does, and let feeds begin anew",
        False,
    ),
    "consumer-ahead": Meaning(
        "A consumer has passed versions that the database does not hold: it was restored to an earlier state.",
        "docs/dba/restore.md, a restore goes back in time",
        False,
    ),
    "document-unstamped": Meaning("A document was written past the triggers: it has no stamp.", "repair stamps it"),
    "document-above-sequence": Meaning(
        "A document's stamp is above the sequence: it is another database's, or the sequence was set back.",
        "repair raises the sequence if the journal knows the stamp, and gives a new one if not",
    ),
    "document-unjournaled": Meaning(
        "A stamp of a document has no event: it was written past the triggers, or the event was deleted.",
        "repair gives a new stamp",
    ),
    "identity-unjournaled": Meaning(
        "An identity stamp that an update gave has no identity event: parents are not found by it.",
        "repair gives a new identity stamp",
    ),
    "key-unjournaled": Meaning(
        "A document's key values are not those of its last key change: it was renamed past the triggers.",
        "repair writes the key change, with a new identity stamp",
    ),
    "stamp-given-again": Meaning(
        "A stamp was given twice: the sequence was set back, and consumers may have passed the second.",
        "repair gives new stamps to all that lie between the lowest and the highest of them",
    ),
    "document-below-tombstone": Meaning(
        "A live document is older than a tombstone of its own: it came back past the triggers.", "repair stamps it"
    ),
    "document-vanished": Meaning(
        "A document is gone and has no tombstone: it was deleted past the triggers, or the tombstone was.",
        "repair writes the tombstone where the document's uuid is known, else it expires the tombstones: consumers read in full",
    ),
    "tombstone-too-low": Meaning("A tombstone is below stamps of its document.", "repair gives it a new stamp"),
    "edge-dangling": Meaning("An edge's parent or child is gone.", "repair removes the edge and stamps the parent"),
    "edge-misfiled": Meaning(
        "An edge carries another resource than its parent's: pages do not find it.", "repair sets it and stamps the parent"
    ),
    "edge-unstamped": Meaning("An edge came without a stamp for its parent: no event tells of it.", "repair stamps the parent"),
    "dependency-missing": Meaning(
        "That one resource refers to another is not recorded: pages do not look at its identity events.",
        "repair records it and stamps the parents that were missed",
    ),
    "maximum-stale": Meaning(
        "A document's MaxDepIdentityVersion is below what it refers to: pages miss it.", "repair stamps the document"
    ),
    "key-too-long": Meaning(
        "A key is longer than 8,192 bytes as text: it is older than the limit, and readers may not be able to read it.",
        "shorten a document's key; a tombstone or a key change stays until it is pruned: docs/dba/limits.md",
        False,
    ),
    "body-too-long": Meaning(
        "A body is longer than 64 MiB as text: it is older than the limit, or a DBA has raised that.",
        "shorten it, or keep it elsewhere: docs/dba/limits.md",
        False,
    ),
    "row-unreadable": Meaning(
        "The database cannot give a row: its text is longer than 1 GiB, or it is damaged.",
        "shorten the key or the body, or delete the document; restore what is damaged: docs/dba/limits.md",
        False,
    ),
    "time-unreadable": Meaning(
        "A time is infinite, or outside of the years 1 to 9999: readers give the first or the last moment of those in its place.",
        "signal a change of the document, which sets its times; an event stays until it is pruned",
        False,
    ),
    "id-reserved": Meaning(
        "A document's id is an end of bigint, which marks what is before the first and after the last: walks do not find it.",
        "delete it, and insert it under another id",
        False,
    ),
    "ids-ahead": Meaning(
        "Rows have ids that the table's sequence has not given yet: a writer whose id it gives next is refused.",
        "repair sets the sequence above them",
    ),
    "image-without-event": Meaning(
        "An image is of no event that the journals hold: no reader asks for it.", "repair removes it; find out who wrote it"
    ),
    "tracked-table-gone": Meaning(
        "A tracked table, or its key, is gone: nothing tells which of its documents still stand for a row.",
        "dmsjournal untrack with it: its documents go, and their tombstones say so",
        False,
    ),
    "tracking-altered": Meaning(
        "A trigger, function or view of a tracked table is missing, disabled or another one, as of a new partition: what was "
        "written meanwhile may not be journaled.",
        "dmsjournal track --renew, or repair, makes it again and stamps every document of the table",
    ),
    "tracking-outdated": Meaning(
        "Columns of a tracked table have changed since it was looked at.", "dmsjournal track --renew, or repair, takes it in"
    ),
    "tracking-failing": Meaning(
        "Writes of a tracked table fail: a column that its triggers name has another name, or one is new that they cannot read.",
        "dmsjournal track --renew, or repair, takes it in",
    ),
    "tracking-untrusted": Meaning(
        "Code of another role can run with the installing role's rights when a tracked table is read. Its rows were not looked at.",
        "drop the object, or change its owner; if you trust that role as the installing role, dmsjournal track --renew --trust",
        False,
    ),
    "tracking-refused": Meaning(
        "A tracked table was altered so that track would refuse it. Its rows were not looked at.",
        "do what the finding says, then dmsjournal track --renew",
        False,
    ),
    "tracking-unfilled": Meaning(
        "The fill of a tracked table has not come to its end: rows that were there before have no document yet.",
        "dmsjournal track --renew, or repair, goes on with it",
    ),
    "row-undocumented": Meaning(
        "A row of a tracked table has no document: it came past the triggers.",
        "dmsjournal track --renew, or repair, makes it; repair stamps every document of the table, since more may have changed",
    ),
    "document-rowless": Meaning(
        "A document of a tracked table has no row: the row went past the triggers.",
        "dmsjournal track --renew, or repair, removes it",
    ),
    "document-doubled": Meaning("Two documents of a tracked table have one key.", "repair removes the younger one"),
    "reference-differs": Meaning(
        "The references of a document are not the foreign keys of its row.",
        "dmsjournal track --renew, or repair, sets them right",
    ),
    "body-stale": Meaning("The body that is kept of a row is not as the row is.", "repair keeps it again, with a stamp"),
}
