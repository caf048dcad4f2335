import os

import pyodbc

from check import check, DATABASE, HOST, PASSWORD, PORT, USER

driver = [d for d in pyodbc.drivers() if "PostgreSQL Unicode" in d or "PostgreSQL" in d][-1]


def connect(**more):
    o = {
        "DRIVER": "{%s}" % driver,
        "SERVER": HOST,
        "PORT": PORT,
        "DATABASE": DATABASE,
        "UID": USER,
        "PWD": PASSWORD or "",
        "SSLmode": os.environ.get("PGSSLMODE", "disable"),
        **more,
    }
    return pyodbc.connect(";".join("%s=%s" % kv for kv in o.items()), autocommit=True)


for declare in ("0", "1"):
    c = connect(UseDeclareFetch=declare)
    cur = c.cursor()

    def stored(like="%"):
        return [
            tuple(r)
            for r in cur.execute(
                "SELECT id, (doc - '_id' - '_rev')::text FROM docs WHERE id LIKE ? ORDER BY id", like
            ).fetchall()
        ]

    @check
    def insert():
        n = cur.execute("INSERT INTO docs (id, doc) VALUES (?, ?)", "a", '{"n": 1}').rowcount
        return (
            n,
            [tuple(r) for r in cur.execute("INSERT INTO docs (id, doc) VALUES ('b', '{}') RETURNING id").fetchall()],
            stored(),
        )

    @check
    def many():
        cur.executemany("INSERT INTO docs (id, doc) VALUES (?, ?)", [("m%d" % i, '{"n": %d}' % i) for i in range(5)])
        cur.fast_executemany = True
        cur.executemany("INSERT INTO docs (id, doc) VALUES (?, ?)", [("n%d" % i, '{"n": %d}' % i) for i in range(5)])
        return stored("m%"), stored("n%")

    @check
    def changes():
        return (
            cur.execute("UPDATE docs SET doc = doc || ? WHERE id LIKE 'm%'", '{"u": 1}').rowcount,
            cur.execute("DELETE FROM docs WHERE id LIKE 'n%'").rowcount,
            stored("m1"),
        )

    @check
    def transaction():
        c.autocommit = False
        cur.execute("INSERT INTO docs (id) VALUES ('t1')")
        c.commit()
        cur.execute("DELETE FROM docs")
        c.rollback()
        c.autocommit = True
        return stored("t%")

    @check
    def duplicate():
        try:
            cur.execute("INSERT INTO docs (id) VALUES ('a')")
        except pyodbc.Error as e:
            return e.args[0]

    @check
    def gone():
        return cur.execute("DELETE FROM docs").rowcount

    c.close()
