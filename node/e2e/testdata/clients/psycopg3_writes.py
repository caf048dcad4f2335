import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from check import check

conn = psycopg.connect("", autocommit=True)


def stored(like="%"):
    return conn.execute("SELECT id, doc - '_id' - '_rev' FROM docs WHERE id LIKE %s ORDER BY id", (like,)).fetchall()


@check
def insert():
    cur = conn.execute(
        "INSERT INTO docs (id, doc) VALUES (%s, %s) RETURNING id, doc->'n' AS n", ("a", Jsonb({"n": 1})), prepare=True
    )
    return cur.fetchall(), cur.rowcount, cur.statusmessage


@check
def binary():
    cur = conn.cursor(binary=True)
    cur.execute(
        "INSERT INTO docs (id, doc) VALUES (%b, %b) RETURNING id, doc - '_id' - '_rev'",
        ("b", Jsonb({"n": [1, 2.5, None, "é"]})),
    )
    return cur.fetchall()


@check
def many():
    cur = conn.cursor()
    cur.executemany(
        "INSERT INTO docs (id, doc) VALUES (%s, %s) RETURNING id",
        [("m%d" % i, Jsonb({"n": i})) for i in range(20)],
        returning=True,
    )
    out = []
    while True:
        out.append(cur.fetchone()[0])
        if not cur.nextset():
            break
    return out, stored("m%")[:2]


@check
def pipeline():
    with conn.pipeline() as p:
        a = conn.execute("INSERT INTO docs (id, doc) VALUES ('p1', '{}') RETURNING id")
        b = conn.execute("UPDATE docs SET doc = '{\"x\": 1}' WHERE id = 'p1' RETURNING doc->'x'")
        p.sync()
        c = conn.execute("DELETE FROM docs WHERE id = 'p1'")
        p.sync()
        return a.fetchall(), b.fetchall(), c.rowcount


@check
def failed_pipeline():
    try:
        with conn.pipeline():
            conn.execute("INSERT INTO docs (id, doc) VALUES ('f1', '{}')")
            conn.execute("INSERT INTO docs (id, doc) VALUES ('a', '{}')")
            conn.execute("INSERT INTO docs (id, doc) VALUES ('f2', '{}')")
    except psycopg.Error as e:
        return e.sqlstate, stored("f%")


@check
def transactions():
    with conn.transaction():
        conn.execute("INSERT INTO docs (id, doc) VALUES ('t1', '{}')")
        with conn.transaction(force_rollback=True):
            conn.execute("DELETE FROM docs")
            gone = stored()
        try:
            with conn.transaction():
                conn.execute("INSERT INTO docs (id, doc) VALUES ('t2', '{}')")
                conn.execute("INSERT INTO docs (id, doc) VALUES ('t1', '{}')")
        except psycopg.errors.UniqueViolation as e:
            code = e.sqlstate
    return gone, code, stored("t%")


@check
def copied():
    with conn.cursor() as cur:
        with cur.copy("COPY docs (id, doc) FROM STDIN") as copy:
            for i in range(1000):
                copy.write_row(("c%04d" % i, Jsonb({"n": i})))
        n = cur.rowcount
        with cur.copy("COPY docs (id, doc) FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["text", "jsonb"])
            copy.write_row(("cb", Jsonb({"b": True})))
        try:
            with cur.copy("COPY docs (id, doc) FROM STDIN") as copy:
                copy.write_row(("never", Jsonb({})))
                raise KeyError("mine")
        except KeyError as e:
            gave_up = str(e)
        return n, cur.statusmessage, gave_up, stored("cb") + stored("never") + stored("c0999")


@check
def upserted():
    cur = conn.cursor(row_factory=dict_row)
    cur.execute(
        """INSERT INTO docs AS d (id, doc) SELECT x->>'id', x FROM jsonb_array_elements(%s) x
        ON CONFLICT (id) DO UPDATE SET doc = d.doc || jsonb_build_object('seen', excluded.doc->'k') WHERE d.id <> 'b' RETURNING d.id, d.doc->'seen' AS seen""",
        (Jsonb([{"id": "a", "k": 1}, {"id": "b", "k": 2}, {"id": "n", "k": 3}]),),
    )
    return cur.fetchall(), cur.statusmessage


@check
def joined():
    cur = conn.execute(
        "UPDATE docs d SET doc = d.doc || jsonb_build_object('v', v.n) FROM (VALUES ('a', 1), ('b', 2)) v(id, n) WHERE d.id = v.id RETURNING d.id, v.n"
    )
    rows = sorted(cur.fetchall())
    cur = conn.execute(
        "DELETE FROM docs d USING (VALUES ('a', 1), ('zz', 2)) v(id, n) WHERE d.id = v.id RETURNING d.id, d.doc->'v', v.n"
    )
    return rows, cur.fetchall(), cur.statusmessage


@check
def described():
    r = conn.pgconn.prepare(b"w", b"INSERT INTO docs (id, doc) VALUES ($1, $2) RETURNING id, doc, length(id)")
    r = conn.pgconn.describe_prepared(b"w")
    one = [
        r.nparams,
        [r.param_type(i) for i in range(r.nparams)],
        [(r.fname(i).decode(), r.ftype(i)) for i in range(r.nfields)],
    ]
    conn.pgconn.prepare(b"u", b"UPDATE docs SET doc = $2 WHERE id = $1")
    r = conn.pgconn.describe_prepared(b"u")
    return one, [r.nparams, [r.param_type(i) for i in range(r.nparams)], r.nfields]


def code(sql, *args):
    try:
        return conn.execute(sql, args or None).statusmessage
    except psycopg.Error as e:
        return [e.sqlstate, e.diag.message_primary]


@check
def blocks():
    return [
        code(q)
        for q in (
            "BEGIN READ ONLY",
            "INSERT INTO docs (id, doc) VALUES ('r', '{}')",
            "ROLLBACK",
            "BEGIN",
            "SELECT 1",
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "ROLLBACK",
            "BEGIN",
            "DELETE FROM docs WHERE id = 'zz'",
            "SET TRANSACTION READ ONLY",
            "DELETE FROM docs WHERE id = 'zz'",
            "ROLLBACK",
            "BEGIN READ ONLY",
            "SELECT 1",
            "SET TRANSACTION READ WRITE",
            "ROLLBACK",
            "BEGIN",
            "INSERT INTO docs (id, doc) VALUES ('x1', '{}')",
            "SELECT 1/0",
            "SELECT 1",
            "COMMIT",
            "SET default_transaction_read_only = on",
            "DELETE FROM docs",
            "BEGIN READ WRITE",
            "DELETE FROM docs WHERE id = 'zz'",
            "COMMIT",
            "RESET default_transaction_read_only",
            "SAVEPOINT outside",
            "ROLLBACK TO nope",
            "BEGIN",
            "ROLLBACK TO nope",
            "ROLLBACK",
            "BEGIN",
            "SELECT id FROM docs WHERE id = 'b' FOR UPDATE",
            "SELECT id FROM docs WHERE id = 'b' FOR SHARE NOWAIT",
            "SELECT count(*) FROM docs FOR UPDATE",
            "ROLLBACK",
        )
    ] + stored("x%")


@check
def mistakes():
    return [
        code(q)
        for q in (
            "INSERT INTO docs (id, doc) VALUES ('d', '{}'), ('d', '{}')",
            "INSERT INTO docs (id, doc) VALUES ('d', '{}'), ('d', '{}') ON CONFLICT (id) DO UPDATE SET doc = excluded.doc",
            "INSERT INTO docs (id, doc) VALUES ('d', '{}'), ('d', '{}') ON CONFLICT (id) DO NOTHING",
            "INSERT INTO docs (id, doc) VALUES ('d', '{}') ON CONFLICT (doc) DO NOTHING",
            "INSERT INTO docs (id, doc) VALUES ('d', '{}') ON CONFLICT (rev) DO UPDATE SET doc = excluded.doc",
            "INSERT INTO docs (id, doc) VALUES ('d', '{}') ON CONFLICT DO UPDATE SET doc = excluded.doc",
            "INSERT INTO docs (id, doc) VALUES ('d', '{}') ON CONFLICT ON CONSTRAINT docs_pkey DO UPDATE SET doc = '{\"k\": 1}'",
            "INSERT INTO docs (id, doc) VALUES ('d', '{}') ON CONFLICT ON CONSTRAINT nope DO NOTHING",
            "INSERT INTO docs (id, doc) VALUES ('d', '{}', 'x')",
            "INSERT INTO docs (id, id) VALUES ('d', 'x')",
            "INSERT INTO docs (id, doc) VALUES ('d')",
            "INSERT INTO docs (id, doc) VALUES ('e', 7)",
            "INSERT INTO docs (id, doc) VALUES (5, '{}') RETURNING id",
            "INSERT INTO docs (id, doc) VALUES ('f', '{}'::json)",
            "INSERT INTO docs (id, doc) VALUES ('g', '{}'::text)",
            "UPDATE docs SET doc = DEFAULT WHERE id = 'f'",
            "UPDATE docs SET rev = DEFAULT WHERE id = 'f'",
            "UPDATE docs SET rev = 'x' WHERE id = 'f'",
            "UPDATE docs SET doc = '{}', doc = '{}'",
            "UPDATE docs SET nope = 1",
            "UPDATE docs SET doc = (SELECT doc FROM docs x WHERE x.id = 'd') - '_id' - '_rev' WHERE id = 'f'",
            "UPDATE docs AS d SET doc = d.doc || '{\"as\": 1}' WHERE docs.id = 'f'",
            "DELETE FROM docs d WHERE docs.id = 'f'",
            "DELETE docs",
            "UPDATE docs SET doc = '{}' FROM docs",
            "UPDATE docs SET doc = doc || '{}' WHERE count(*) > 1",
            "DELETE FROM docs WHERE id = ANY (ARRAY['x', 'y']) RETURNING nope",
            "INSERT INTO docs (id, doc) VALUES ('h', '{}') RETURNING count(*)",
            "INSERT INTO docs (id, doc) SELECT 'i' || i, '{}' FROM generate_series(1, 3) i RETURNING upper(id)",
            "INSERT INTO docs (id, doc) VALUES ('j', DEFAULT)",
            "INSERT INTO docs (id, doc) (VALUES ('k', '{}'::jsonb))",
            "INSERT INTO docs (id, doc) TABLE docs",
            "WITH w AS (SELECT 'l' AS id) INSERT INTO docs (id, doc) SELECT id, '{}' FROM w",
            "WITH w AS (SELECT 'l' AS id) UPDATE docs SET doc = '{}' FROM w WHERE w.id = docs.id",
            "WITH w AS (SELECT 'l' AS id) DELETE FROM docs USING w WHERE w.id = docs.id",
            "UPDATE ONLY docs SET doc = '{}' WHERE id = 'k'",
            "DELETE FROM ONLY docs WHERE id = 'k'",
            "INSERT INTO docs (id, doc) VALUES ('o', '{}') ON CONFLICT (id) WHERE true DO NOTHING",
            "INSERT INTO docs (id, doc) VALUES ('o', '{}') ON CONFLICT (lower(id)) DO NOTHING",
            "INSERT INTO docs (id, doc) VALUES ('d', '{}') ON CONFLICT (id) DO UPDATE SET doc = doc || '{}'",
            "INSERT INTO docs (id, doc) VALUES ('d', '{}') ON CONFLICT (id) DO UPDATE SET rev = 'x'",
            "INSERT INTO nope.docs (id) VALUES ('x')",
            "INSERT INTO public.docs (id, doc) VALUES ('q', '{}')",
            "EXPLAIN (COSTS OFF) DELETE FROM nope",
            "COPY docs (rev) FROM STDIN",
        )
    ]
