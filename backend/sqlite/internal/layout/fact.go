package layout

// createFacts makes what format 6 added: the tables of facts, which are as those of
// relations, with the subject on the left and the attribute on the right.
const createFacts = `
CREATE TABLE IF NOT EXISTS fact_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    fact_type TEXT NOT NULL,
    subject TEXT NOT NULL,
    attribute TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    fields_json TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    schema_version_id INTEGER,
    op TEXT NOT NULL DEFAULT 'put',
    onto_sum INTEGER,
    FOREIGN KEY (commit_id) REFERENCES commits(id)
);
CREATE TABLE IF NOT EXISTS fact_current (
    fact_type TEXT NOT NULL,
    subject TEXT NOT NULL,
    attribute TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    first_commit_id INTEGER NOT NULL,
    op TEXT NOT NULL,
    schema_version_id INTEGER NOT NULL,
    fields BLOB,
    created_commit_id INTEGER,
    PRIMARY KEY (fact_type, subject, attribute, fact_id)
) WITHOUT ROWID;
` + createFactPast

const createFactPast = `
CREATE TABLE IF NOT EXISTS onto_fact_past (
    fact_type TEXT NOT NULL,
    until INTEGER NOT NULL,
    since INTEGER NOT NULL,
    history_id INTEGER NOT NULL,
    PRIMARY KEY (fact_type, until, since, history_id)
) WITHOUT ROWID;
`

// createFactIndexes makes the indexes of facts. The last one would hold the columns of the
// primary key anyway. Named, they tell SQLite that it finds no fewer rows than the key.
const createFactIndexes = `
CREATE INDEX IF NOT EXISTS onto_fact_history_lookup
    ON fact_history(fact_type, subject, attribute, fact_id, commit_id DESC);
CREATE INDEX IF NOT EXISTS onto_fact_history_commit ON fact_history(commit_id);
CREATE INDEX IF NOT EXISTS onto_fact_current_attribute ON fact_current(fact_type, attribute, subject, fact_id);
`
