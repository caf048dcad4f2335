import datetime
import decimal
import uuid

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb, Json

from check import check

conn = psycopg.connect("", autocommit=True)


@check
def parameters():
    values = (
        1,
        2**40,
        1.5,
        decimal.Decimal("12.340"),
        "it's \\ é",
        True,
        None,
        datetime.date(2024, 2, 29),
        datetime.datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=datetime.timezone.utc),
        datetime.timedelta(days=1, seconds=2),
        uuid.UUID(int=7),
        b"\x00\xff",
        [1, 2, None],
        ["a", "b,c"],
        Jsonb({"a": [1, None]}),
        Json([1]),
    )
    out = []
    for binary in (False, True):
        cur = conn.cursor(binary=binary)
        for v in values:
            cur.execute("SELECT %b" if binary else "SELECT %t", (v,))
            row = cur.fetchone()
            out.append((row, cur.description[0].type_code))
    return out


@check
def documents():
    cur = conn.cursor(row_factory=dict_row)
    rows = cur.execute(
        "SELECT id, doc->>'name' AS name, doc->'n' AS n FROM docs WHERE id = ANY(%s) ORDER BY id",
        (["no:2294", "fr:1077"],),
    )
    return rows.fetchall()


@check
def json_filters():
    out = []
    for sql, args in [
        ("SELECT count(*) FROM docs WHERE doc->>'country' = %s", ("NO",)),
        ("SELECT count(*) FROM docs WHERE doc @> %s", (Jsonb({"country": "NO"}),)),
        ("SELECT count(*) FROM docs WHERE doc->'n' > %s", (Jsonb(100),)),
        ("SELECT count(*) FROM docs WHERE doc->'n' = %s", (Jsonb(100),)),
        ("SELECT count(*) FROM docs WHERE doc ? %s", ("tags",)),
        ('SELECT count(*), min(id) FROM "by".country WHERE key = %s', (Jsonb("NO"),)),
        ('SELECT count(*) FROM "by".n WHERE key = ANY(%s)', ([Jsonb(5), Jsonb(6)],)),
    ]:
        for binary in (False, True):
            cur = conn.cursor(binary=binary)
            try:
                out.append(cur.execute(sql, args).fetchall())
            except psycopg.Error as e:
                out.append(e.sqlstate)
    return out


@check
def prepared():
    out = []
    for i in range(8):
        out.append(
            conn.execute(
                "SELECT id FROM docs WHERE id >= %s ORDER BY id LIMIT 1", ("n%d" % i,), prepare=True
            ).fetchone()
        )
    return out


@check
def server_side_cursor():
    out = []
    with conn.transaction():
        with conn.cursor(name="many") as cur:
            cur.execute("SELECT id FROM docs ORDER BY id LIMIT 30")
            out.append(cur.fetchmany(3))
            out.append(cur.fetchall())
            out.append(cur.rownumber)
    return out


@check
def scrolled():
    out = []
    for scrollable in (True, None, False):
        for binary in (False, True):
            try:
                with conn.transaction(), conn.cursor(name="s", scrollable=scrollable, binary=binary) as cur:
                    cur.execute("SELECT id, (doc->>'n')::int FROM docs ORDER BY id LIMIT 30")
                    out.append(cur.fetchmany(3))
                    cur.scroll(5)
                    out.append(cur.fetchone())
                    cur.scroll(-4)
                    out.append(cur.fetchone())
                    cur.scroll(2, mode="absolute")
                    out.append(cur.fetchall()[-1])
            except psycopg.Error as e:
                out.append((e.sqlstate, e.diag.message_primary))
    with conn.cursor(name="held", withhold=True, scrollable=True) as cur:
        cur.execute("SELECT id FROM docs ORDER BY id LIMIT 5")
        out.append(cur.fetchall())
        cur.scroll(0, mode="absolute")
        out.append(cur.fetchall())
    return out


@check
def encodings():
    out = []
    for name, text in [("win1252", "\xe9\u20ac"), ("latin1", "\xe9"), ("sjis", "\u6771\u8868"), ("utf8", "\xe9")]:
        with psycopg.connect(f"client_encoding={name}", autocommit=True) as c2:
            for binary in (False, True):
                cur = c2.cursor(binary=binary)
                try:
                    cur.execute("SELECT %s, %s, %s::text[], %b", (text, Jsonb({"a": text}), [text, "x"], text))
                    out.append((c2.info.encoding, cur.fetchall()))
                    cur.execute("SELECT chr(8364), chr(233)")
                    out.append(cur.fetchall())
                except psycopg.Error as e:
                    out.append((e.sqlstate, e.diag.message_primary))
            with c2.cursor().copy("COPY (SELECT chr(%d)) TO STDOUT" % ord(text[0])) as copy:
                out.append([bytes(b).hex() for b in copy])
    return out


@check
def copies():
    out = []
    for sql in [
        "COPY (SELECT id, (doc->>'n')::int8 AS n, doc->'tags' AS t FROM docs WHERE id LIKE 'n%' ORDER BY id LIMIT 12) TO STDOUT",
        "COPY (SELECT id, doc->>'name' AS name, NULL AS x FROM docs ORDER BY id LIMIT 5) TO STDOUT (FORMAT csv, HEADER)",
    ]:
        with conn.cursor().copy(sql) as copy:
            out.append([bytes(b).decode() for b in copy])
    for sql, types in [
        (
            "COPY (SELECT id, (doc->>'n')::int8 AS n, doc->>'nope' FROM docs WHERE id LIKE 'n%' ORDER BY id LIMIT 12) TO STDOUT (FORMAT binary)",
            ["text", "int8", "text"],
        ),
        ("COPY (SELECT id FROM docs WHERE false) TO STDOUT (FORMAT binary)", ["text"]),
    ]:
        with conn.cursor().copy(sql) as copy:
            copy.set_types(types)
            out.append([r for r in iter(copy.read_row, None)])
    return out


@check
def pipelines():
    with conn.pipeline():
        a = conn.execute("SELECT %s::int", (1,))
        b = conn.execute("SELECT id FROM docs WHERE id = %s", ("fr:1077",))
        c = conn.execute("SELECT 3")
    out = [a.fetchall(), b.fetchall(), c.fetchall()]
    try:
        with conn.pipeline():
            conn.execute("SELECT 1/%s::int", (0,))
            conn.execute("SELECT 1")
    except psycopg.Error as e:
        out.append(e.sqlstate)
    out.append(conn.execute("SELECT 4").fetchone())
    return out


@check
def transactions():
    out = []
    try:
        with conn.transaction():
            conn.execute("SELECT 1")
            with conn.transaction(savepoint_name="sp"):
                conn.execute("SELECT nope FROM docs")
    except psycopg.Error as e:
        out.append((e.sqlstate, e.diag.message_primary, e.diag.statement_position, type(e).__name__))
    conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    conn.read_only = True
    with conn.transaction():
        out.append(conn.execute("SHOW transaction_isolation").fetchone())
        out.append(conn.execute("SELECT count(*) FROM docs").fetchone())
        out.append(conn.execute('SELECT count(*) FROM docs').fetchone())
    conn.isolation_level = None
    conn.read_only = None
    return out


@check
def notices():
    seen = []
    conn.add_notice_handler(lambda d: seen.append((d.severity, d.sqlstate, d.message_primary)))
    conn.execute("COMMIT")
    return seen


@check
def information():
    i = conn.info
    return i.encoding, i.server_version // 10000, i.timezone, i.dbname, str(i.transaction_status)
