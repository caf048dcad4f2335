# psqlodbc, through pyodbc.
import pyodbc

from check import show, plain, DATABASE, HOST, PASSWORD, PORT, USER

pyodbc.pooling = False
drivers = [d for d in pyodbc.drivers() if "Unicode" in d]
options = "DRIVER={%s};SERVER=%s;PORT=%s;DATABASE=%s;UID=%s;%s" % (
    drivers[0],
    HOST,
    PORT,
    DATABASE,
    USER,
    "PWD=%s;" % PASSWORD if PASSWORD else "",
)


def run(prefix, conn):
    cur = conn.cursor()

    def check(f):
        try:
            show(prefix + f.__name__, f())
        except pyodbc.Error as e:
            show(prefix + f.__name__, "error " + e.args[0])

    @check
    def information():
        return (
            conn.getinfo(pyodbc.SQL_DBMS_NAME),
            conn.getinfo(pyodbc.SQL_DBMS_VER)[:2],
            conn.getinfo(pyodbc.SQL_DATABASE_NAME),
        )

    @check
    def parameters():
        return [
            tuple(r)
            for r in cur.execute(
                "SELECT ?::int, ?::float8, ?::text, ?::text, ?::bool, ?::date, ?::bytea",
                1,
                1.5,
                "it's é",
                None,
                True,
                "2024-02-29",
                b"\x00\xff",
            )
        ]

    @check
    def documents():
        return [
            tuple(r)
            for r in cur.execute(
                "SELECT id, doc->>'name', doc->'n' FROM docs WHERE id IN (?, ?) ORDER BY id", "no:2294", "fr:1077"
            )
        ]

    @check
    def filters():
        out = []
        for q, v in [
            ("SELECT count(*) FROM docs WHERE doc->>'country' = ?", "NO"),
            ("SELECT count(*) FROM docs WHERE doc @> ?::jsonb", '{"country":"NO"}'),
            ("SELECT count(*) FROM docs WHERE doc->'n' > ?::jsonb", "3420"),
            ('SELECT count(*), min(id) FROM "by".country WHERE key = ?::jsonb', '"NO"'),
        ]:
            out.append([tuple(r) for r in cur.execute(q, v)])
        return out

    @check
    def tables():
        return [(t.table_schem, t.table_name, t.table_type) for t in cur.tables() if t.table_name == "docs"]

    @check
    def columns():
        return [
            (c.table_name, c.column_name, c.type_name, c.data_type)
            for t in ("docs", "country")
            for c in cur.columns(table=t)
        ]

    @check
    def keys():
        return [(k.table_name, k.column_name, k.key_seq) for k in cur.primaryKeys("docs")], [
            tuple(k) for k in cur.foreignKeys("docs")
        ]

    @check
    def statistics():
        return [
            (s.index_name is not None, s.column_name, s.non_unique) for s in cur.statistics("docs") if s.column_name
        ]

    @check
    def special_columns():
        return [(r[1], r[3]) for r in cur.rowIdColumns("docs")]

    @check
    def types():
        return len(cur.getTypeInfo().fetchall()) > 10

    @check
    def described():
        cur.execute("SELECT id, doc, 1 AS a, 1.5::float8 AS b, true AS c, now() AS d FROM docs WHERE id = 'no:2294'")
        return [(d[0], d[1].__name__) for d in cur.description]

    @check
    def many():
        cur.execute("SELECT id FROM docs ORDER BY id")
        return len(cur.fetchmany(10)), len(cur.fetchall())

    @check
    def transaction():
        conn.autocommit = False
        out = [tuple(cur.execute("SELECT count(*) FROM docs").fetchone())]
        try:
            cur.execute("SELECT 1/0")
        except pyodbc.Error as e:
            out.append(e.args[0])
        conn.rollback()
        out.append(tuple(cur.execute("SELECT 1").fetchone()))
        conn.commit()
        conn.autocommit = True
        return out

    @check
    def error():
        cur.execute("SELECT nope FROM docs")

    conn.close()


run("", pyodbc.connect(options, autocommit=True))
run("declared ", pyodbc.connect(options + "UseDeclareFetch=1;Fetch=100;", autocommit=True))
run("simple ", pyodbc.connect(options + "UseServerSidePrepare=0;", autocommit=True))
