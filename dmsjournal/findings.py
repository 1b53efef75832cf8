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
    "adopted-trigger": Meaning(
        "A trigger that the adoption made for its programs is missing or disabled: what they wrote meanwhile is not journaled.",
        "ALTER TABLE … ENABLE TRIGGER, or dmsjournal adopt --content-column …, or adopting/names.sql; then signal what changed",
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
    "table-altered": Meaning(
        "A table is such that rows are lost in a crash, or written or hidden past the triggers.",
        "SET LOGGED, NO FORCE ROW LEVEL SECURITY, NO INHERIT, DROP RULE, or another name for the trigger, as the state says",
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
    "index-altered": Meaning("An index is not valid or disabled: it is not used.", "rebuild it, without blocking writers", False),
    "constraint-missing": Meaning("A key or check is missing.", "add it as sql/<engine>/tables/ has it", False),
    "constraint-altered": Meaning(
        "A key or check is disabled or not validated.", "repair enables it, after the edges; on PostgreSQL as a superuser"
    ),
    "sequence-missing": Meaning("The sequence is missing: nobody can write.", "restore schema dms as a whole", False),
    "sequence-altered": Meaning(
        "The sequence does not rise by 1, ends or starts over, or is cached for each session.", "repair sets it right"
    ),
    "owner-differs": Meaning(
        "An object belongs to another role than the documents do: triggers run with its rights.",
        "ALTER … OWNER TO the installing role",
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
    "image-without-event": Meaning(
        "An image is of no event that the journals hold: nobody asks for it.", "repair removes it; find out who wrote it"
    ),
}
