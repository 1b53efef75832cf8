-- sql/postgres/queries/feed/feed_page.sql: the next events of the feed after a cursor, in (ChangeVersion, DocumentId) order.
-- Binds: after_version, after_id (exclusive); max_version (inclusive, at most a horizon that was read before); page_size (events, 1 or
--   more); scan_size (rows to look at, page_size or more). What is wanted of them, null for all: resource_key_id (read by its index);
--   document_id; bucket of bucket_count (docs/how-it-works.md, The feed); operations and resource_key_ids (JSON arrays). with_key,
--   with_body: whether to give keys and bodies; a key that cannot be read is passed by without it (dmsjournal/read/unreadable.py).
-- Gives: one row an event, and one row at least. Every row has `floor`, the highest of the journals that events are told by; event_floor,
--   the higher of the two that were looked in for the last event; drawn, the newest stamp that the sequence has given; now; rows_scanned;
--   (position_version, position_id), the last position that was looked at, null where that is max_version. found_…: the last event at or
--   below the cursor's version, above event_floor (consumers.sql); last_…: as much of the new position's. A document's uuid and key
--   are those of the lifetime that the event belongs to, as of the event; old_key_values is the key before it, null where it changed none.
-- Plan: one range of each journal's primary key, or of its index by resource, of scan_size + 1 rows at most; and for each event lookups by
--   key. So what it reads depends on scan_size and page_size, never on the window nor on what is filtered away. Of the two branches of
--   each journal one runs: the other one's condition is false at once, also in a plan for any values. See change_page.sql for the rest.
WITH changed AS MATERIALIZED (
    (SELECT ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, Operation
     FROM dms.DocumentChangeEvent
     WHERE CAST(:resource_key_id AS smallint) IS NULL
       AND (ChangeVersion, DocumentId) > (CAST(:after_version AS bigint), CAST(:after_id AS bigint))
       AND ChangeVersion <= CAST(:max_version AS bigint)
     ORDER BY ChangeVersion, DocumentId
     LIMIT CAST(:scan_size AS bigint) + 1)
    UNION ALL
    (SELECT ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, Operation
     FROM dms.DocumentChangeEvent
     WHERE ResourceKeyId = ANY (ARRAY[CAST(:resource_key_id AS smallint)])
       AND (ChangeVersion, DocumentId) > (CAST(:after_version AS bigint), CAST(:after_id AS bigint))
       AND ChangeVersion <= CAST(:max_version AS bigint)
     ORDER BY ResourceKeyId, ChangeVersion, DocumentId
     LIMIT CAST(:scan_size AS bigint) + 1)
),
reach AS MATERIALIZED (  -- tombstones behind a full scan of changes are not looked at
    SELECT coalesce((SELECT ChangeVersion FROM changed ORDER BY ChangeVersion, DocumentId OFFSET CAST(:scan_size AS bigint)),
                    CAST(:max_version AS bigint)) AS version
),
gone AS MATERIALIZED (
    (SELECT ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt
     FROM dms.DocumentDeleteEvent
     WHERE CAST(:resource_key_id AS smallint) IS NULL
       AND (ChangeVersion, DocumentId) > (CAST(:after_version AS bigint), CAST(:after_id AS bigint))
       AND ChangeVersion <= (SELECT version FROM reach)
     ORDER BY ChangeVersion
     LIMIT CAST(:scan_size AS bigint) + 1)
    UNION ALL
    (SELECT ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt
     FROM dms.DocumentDeleteEvent
     WHERE ResourceKeyId = ANY (ARRAY[CAST(:resource_key_id AS smallint)])
       AND (ChangeVersion, DocumentId) > (CAST(:after_version AS bigint), CAST(:after_id AS bigint))
       AND ChangeVersion <= (SELECT version FROM reach)
     ORDER BY ResourceKeyId, ChangeVersion
     LIMIT CAST(:scan_size AS bigint) + 1)
),
scanned AS MATERIALIZED (  -- the row after scan_size only tells where the one before it ends
    SELECT *, row_number() OVER (ORDER BY ChangeVersion, DocumentId) AS place
    FROM (SELECT ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, Operation FROM changed
          UNION ALL SELECT ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, 'delete' FROM gone) AS both_journals
    ORDER BY ChangeVersion, DocumentId
    LIMIT CAST(:scan_size AS bigint) + 1
),
wanted AS MATERIALIZED (
    SELECT scanned.*, row_number() OVER (ORDER BY scanned.place) AS number
    FROM scanned
    CROSS JOIN LATERAL (SELECT DocumentId & 4294967295 AS low) AS part
    CROSS JOIN LATERAL (
        SELECT (part.low * 1327217885 + ((DocumentId - part.low) / 4294967296 + 2147483648) * 805306457) % 2147483647 AS mixed) AS first
    CROSS JOIN LATERAL (SELECT (first.mixed # (first.mixed / 32768)) * 1103515245 % 2147483647 AS hash) AS second
    WHERE place <= CAST(:scan_size AS bigint)
      AND (CAST(:document_id AS bigint) IS NULL OR DocumentId = CAST(:document_id AS bigint))
      AND (CAST(:bucket_count AS bigint) IS NULL OR second.hash * CAST(:bucket_count AS bigint) / 2147483647 = CAST(:bucket AS bigint))
      AND (CAST(:operations AS jsonb) IS NULL
           OR Operation = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:operations AS jsonb)))))
      AND (CAST(:resource_key_ids AS jsonb) IS NULL
           OR ResourceKeyId = ANY (ARRAY(SELECT CAST(jsonb_array_elements_text(CAST(:resource_key_ids AS jsonb)) AS smallint))))
),
last_place AS (  -- a full page was looked at to its last event, else to the scan's end
    SELECT CASE WHEN (SELECT count(*) FROM wanted) > CAST(:page_size AS bigint)
                THEN (SELECT place FROM wanted WHERE number = CAST(:page_size AS bigint))
                WHEN (SELECT count(*) FROM scanned) > CAST(:scan_size AS bigint) THEN CAST(:scan_size AS bigint) END AS place
),
position AS MATERIALIZED (  -- a version whose events were all looked at was read in full
    SELECT here.ChangeVersion,
           CASE WHEN following.ChangeVersion > here.ChangeVersion THEN 9223372036854775807 ELSE here.DocumentId END AS DocumentId
    FROM last_place
    JOIN scanned AS here ON here.place = last_place.place
    JOIN scanned AS following ON following.place = last_place.place + 1
),
page AS MATERIALIZED (
    SELECT * FROM wanted WHERE number <= CAST(:page_size AS bigint)
),
events AS (
    SELECT page.number, page.ChangeVersion, page.DocumentId, page.ResourceKeyId, page.TransactionId, page.CreatedAt, page.Operation,
           coalesce(tombstone.DocumentUuid, document.DocumentUuid) AS DocumentUuid,
           CASE WHEN later.DocumentUuid = coalesce(tombstone.DocumentUuid, document.DocumentUuid)
                     AND (tombstone.ChangeVersion IS NULL OR later.ChangeVersion < tombstone.ChangeVersion)
                THEN later.OldKeyValues ELSE coalesce(tombstone.KeyValues, document.KeyValues) END AS KeyValues,
           own.OldKeyValues, body.DocumentJson
    FROM page
    LEFT JOIN LATERAL (  -- the end of the lifetime that the event belongs to; a deleted document's own
        SELECT ChangeVersion, DocumentUuid, KeyValues FROM dms.DocumentDeleteEvent
        WHERE DocumentId = page.DocumentId AND ChangeVersion >= page.ChangeVersion
        ORDER BY DocumentId, ChangeVersion LIMIT 1
    ) AS tombstone ON true
    LEFT JOIN LATERAL (
        SELECT DocumentUuid, KeyValues, greatest(ContentVersion, IdentityVersion) AS local
        FROM dms.Document WHERE DocumentId = page.DocumentId OFFSET 0
    ) AS document ON tombstone.DocumentUuid IS NULL
    LEFT JOIN LATERAL (  -- the key until the document's next key change, if that is in the same lifetime: a uuid may come again
        SELECT ChangeVersion, DocumentUuid, OldKeyValues FROM dms.KeyChangeEvent
        WHERE DocumentId = page.DocumentId AND ChangeVersion > page.ChangeVersion
        ORDER BY DocumentId, ChangeVersion LIMIT 1
    ) AS later ON true
    LEFT JOIN LATERAL (
        SELECT OldKeyValues FROM dms.KeyChangeEvent WHERE ChangeVersion = page.ChangeVersion AND DocumentId = page.DocumentId OFFSET 0
    ) AS own ON page.Operation = 'update'
    LEFT JOIN LATERAL (
        SELECT DocumentJson FROM dms.DocumentCache WHERE DocumentId = page.DocumentId OFFSET 0
    ) AS body ON CAST(:with_body AS boolean) AND document.local = page.ChangeVersion
)
SELECT floors.floor, floors.event_floor, sequence.drawn, clock_timestamp() AS now,
       (SELECT count(*) FROM changed) + (SELECT count(*) FROM gone) AS rows_scanned,
       position.ChangeVersion AS position_version, position.DocumentId AS position_id,
       found.ChangeVersion AS found_version, found.DocumentId AS found_id, found.TransactionId AS found_transaction_id,
       found.CreatedAt AS found_at,
       last.ChangeVersion AS last_version, last.DocumentId AS last_id, last.TransactionId AS last_transaction_id, last.CreatedAt AS last_at,
       events.ChangeVersion AS change_version, events.DocumentId AS document_id, events.ResourceKeyId AS resource_key_id,
       events.TransactionId AS transaction_id, events.CreatedAt AS created_at, events.Operation AS operation,
       events.DocumentUuid AS document_uuid, CASE WHEN CAST(:with_key AS integer) = 1 THEN events.KeyValues END AS key_values,
       CASE WHEN CAST(:with_key AS integer) = 1 THEN events.OldKeyValues END AS old_key_values, events.DocumentJson AS body
FROM (
    SELECT max(ChangeVersion) FILTER (WHERE Journal IN ('DocumentChangeEvent', 'DocumentDeleteEvent', 'KeyChangeEvent')) AS floor,
           max(ChangeVersion) FILTER (WHERE Journal IN ('DocumentChangeEvent', 'DocumentDeleteEvent')) AS event_floor
    FROM dms.JournalFloor
) AS floors
CROSS JOIN (SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS drawn FROM dms.ChangeVersionSequence) AS sequence
LEFT JOIN position ON true
LEFT JOIN LATERAL (
    (SELECT ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentChangeEvent
     WHERE ChangeVersion <= CAST(:after_version AS bigint) AND ChangeVersion > floors.event_floor
     ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1)
    UNION ALL
    (SELECT ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentDeleteEvent
     WHERE ChangeVersion <= CAST(:after_version AS bigint) AND ChangeVersion > floors.event_floor
     ORDER BY ChangeVersion DESC LIMIT 1)
    ORDER BY ChangeVersion DESC, DocumentId DESC
    LIMIT 1
) AS found ON true
LEFT JOIN LATERAL (
    (SELECT ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentChangeEvent
     WHERE ChangeVersion <= coalesce(position.ChangeVersion, greatest(CAST(:max_version AS bigint), CAST(:after_version AS bigint)))
       AND ChangeVersion > floors.event_floor
     ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1)
    UNION ALL
    (SELECT ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentDeleteEvent
     WHERE ChangeVersion <= coalesce(position.ChangeVersion, greatest(CAST(:max_version AS bigint), CAST(:after_version AS bigint)))
       AND ChangeVersion > floors.event_floor
     ORDER BY ChangeVersion DESC LIMIT 1)
    ORDER BY ChangeVersion DESC, DocumentId DESC
    LIMIT 1
) AS last ON true
LEFT JOIN events ON true
ORDER BY events.number
