import io

import psycopg2
from psycopg2 import errors, extras
from psycopg2.extras import Json

from check import check

conn = psycopg2.connect("")
STORED = "SELECT id, doc - '_id' - '_rev' FROM docs ORDER BY id"


def stored(c=None):
    with (c or conn).cursor() as cur:
        cur.execute(STORED)
        return cur.fetchall()


@check
def insert():
    with conn, conn.cursor() as cur:
        cur.execute(
            "INSERT INTO docs (id, doc) VALUES (%s, %s) RETURNING id, doc->>'n', rev IS NOT NULL",
            ("a", Json({"n": 1, "s": "it's é"})),
        )
        return cur.fetchone(), cur.rowcount, cur.statusmessage, [d.name for d in cur.description]


@check
def many():
    with conn, conn.cursor() as cur:
        cur.executemany("INSERT INTO docs (id, doc) VALUES (%s, %s)", [("m%d" % i, Json({"n": i})) for i in range(5)])
        rows = extras.execute_values(
            cur,
            "INSERT INTO docs (id, doc) VALUES %s RETURNING id",
            [("v%d" % i, Json({"n": i})) for i in range(25)],
            template="(%s, %s::jsonb)",
            page_size=10,
            fetch=True,
        )
        extras.execute_batch(
            cur,
            "UPDATE docs SET doc = doc || %s WHERE id = %s",
            [(Json({"batch": i}), "m%d" % i) for i in range(5)],
            page_size=2,
        )
        return [len(rows), rows[-1], stored()[:3]]


@check
def upsert():
    with conn, conn.cursor() as cur:
        q = "INSERT INTO docs (id, doc) VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET doc = docs.doc || excluded.doc RETURNING doc->'n', doc->'k'"
        out = []
        for id in ("a", "new"):
            cur.execute(q, (id, Json({"k": True})))
            out.append(cur.fetchone())
        cur.execute("INSERT INTO docs (id, doc) VALUES ('a', '{}') ON CONFLICT DO NOTHING RETURNING id")
        return out, cur.fetchall(), cur.statusmessage


@check
def update_and_delete():
    with conn, conn.cursor() as cur:
        cur.execute(
            "UPDATE docs SET doc = jsonb_set(doc, '{n}', to_jsonb((doc->>'n')::int + %s)) WHERE id LIKE %s RETURNING id, doc->'n'",
            (10, "m%"),
        )
        rows = cur.fetchall(), cur.rowcount, cur.statusmessage
        cur.execute("DELETE FROM docs WHERE id LIKE 'v%%' AND (doc->>'n')::int >= %s", (3,))
        return rows, cur.rowcount, cur.statusmessage, stored()


@check
def rollback():
    before = stored()
    with conn.cursor() as cur:
        cur.execute("DELETE FROM docs")
        gone = stored()
    conn.rollback()
    return gone, stored() == before


@check
def savepoints():
    out = []
    with conn, conn.cursor() as cur:
        cur.execute("INSERT INTO docs (id, doc) VALUES ('s1', '{}')")
        cur.execute("SAVEPOINT a")
        try:
            cur.execute("INSERT INTO docs (id, doc) VALUES ('s1', '{}')")
        except errors.UniqueViolation as e:
            out.append(
                [e.pgcode, e.diag.constraint_name, e.diag.table_name, e.diag.message_primary, e.diag.message_detail]
            )
        cur.execute("ROLLBACK TO a")
        cur.execute("UPDATE docs SET doc = '{\"x\": 1}' WHERE id = 's1'")
        cur.execute("SAVEPOINT b")
        cur.execute("DELETE FROM docs WHERE id = 's1'")
        cur.execute("ROLLBACK TO b")
        cur.execute("RELEASE a")
    return out, [r for r in stored() if r[0] == "s1"]


@check
def cursors():
    with conn:
        with conn.cursor() as cur:
            cur.execute(
                "INSERT INTO docs (id, doc) SELECT 'c' || i, jsonb_build_object('i', i) FROM generate_series(1, 20) i"
            )
        with conn.cursor("named") as named:
            named.itersize = 7
            named.execute("SELECT id FROM docs WHERE id LIKE 'c%' ORDER BY id")
            return [r[0] for r in named]


@check
def copied():
    with conn, conn.cursor() as cur:
        cur.copy_from(io.StringIO("p1\t{\"a\": \"\\\\\\\\t\"}\np2\t{}\n"), "docs", columns=("id", "doc"))
        n = cur.rowcount
        cur.copy_expert(
            "COPY docs (id, doc) FROM STDIN WITH (FORMAT csv, HEADER)", io.StringIO('id,doc\np3,"{""x"": 1}"\n')
        )
        return n, cur.rowcount, [r for r in stored() if r[0].startswith("p")]


@check
def large_object_of_text():
    with conn, conn.cursor() as cur:
        cur.execute("INSERT INTO docs (id, doc) VALUES ('large', %s)", (Json({"t": "é" * 100000}),))
        cur.execute("SELECT length(doc->>'t') FROM docs WHERE id = 'large'")
        return cur.fetchone()


def refused(sql, *args):
    try:
        with conn, conn.cursor() as cur:
            cur.execute(sql, args)
            return cur.statusmessage
    except psycopg2.Error as e:
        return [type(e).__name__, e.pgcode]


@check
def errors_():
    return [
        refused("INSERT INTO docs (id, doc) VALUES ('a', '{}')"),
        refused("INSERT INTO docs (id, doc) VALUES (NULL, '{}')"),
        refused("INSERT INTO docs (id, doc) VALUES ('n', NULL)"),
        refused("INSERT INTO docs (id, doc) VALUES ('n', '{')"),
        refused("INSERT INTO docs (id, rev) VALUES ('n', '1')"),
        refused("INSERT INTO docs (id, nope) VALUES ('n', '1')"),
        refused("INSERT INTO docs (id, doc) VALUES ('n')"),
        refused("UPDATE docs SET doc = 5 WHERE id = 'a'"),
        refused("UPDATE docs SET doc = jsonb_set(doc, '{n}', (1 / 0)::text::jsonb) WHERE id = 'a'"),
        refused("UPDATE nope SET doc = NULL"),
    ]


@check
def readonly():
    with psycopg2.connect("") as c:
        c.set_session(readonly=True)
        try:
            with c.cursor() as cur:
                cur.execute("DELETE FROM docs")
        except psycopg2.Error as e:
            return [e.pgcode, str(e).strip()]


@check
def serializable():
    with psycopg2.connect("") as one, psycopg2.connect("") as two:
        one.set_session("SERIALIZABLE")
        two.set_session("SERIALIZABLE")
        a, b = one.cursor(), two.cursor()
        a.execute("SELECT doc->'n' FROM docs WHERE id = 'm1'")
        b.execute("SELECT doc->'n' FROM docs WHERE id = 'm2'")
        a.execute("UPDATE docs SET doc = '{\"n\": 0}' WHERE id = 'm2'")
        b.execute("UPDATE docs SET doc = '{\"n\": 0}' WHERE id = 'm1'")
        codes = []
        for c in (one, two):
            try:
                c.commit()
                codes.append(None)
            except psycopg2.Error as e:
                codes.append(e.pgcode)
        return codes


@check
def autocommit():
    conn.rollback()
    conn.autocommit = True
    with conn.cursor() as cur:
        cur.execute("DELETE FROM docs WHERE id = 'large'; INSERT INTO docs (id, doc) VALUES ('z', '{}')")
        tag = cur.statusmessage
        try:
            cur.execute("INSERT INTO docs (id, doc) VALUES ('z2', '{}'); SELECT 1/0")
        except psycopg2.Error as e:
            return tag, e.pgcode, [r for r in stored() if r[0].startswith("z")]
