import io
import threading
import time
import datetime
import decimal
import uuid

import psycopg2
import psycopg2.extras
import psycopg2.extensions

from check import check, show

conn = psycopg2.connect("")
conn.autocommit = True
cur = conn.cursor()


@check
def parameters():
    cur.execute(
        "SELECT %s, %s, %s, %s, %s, %s, %s, %s, %s",
        (
            1,
            2**40,
            1.5,
            decimal.Decimal("12.340"),
            "it's \\ é",
            True,
            None,
            datetime.date(2024, 2, 29),
            datetime.datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=datetime.timezone.utc),
        ),
    )
    return cur.fetchall(), [d.type_code for d in cur.description]


@check
def more_parameters():
    psycopg2.extras.register_uuid()
    cur.execute(
        "SELECT %s, %s, %s, %s, %s, %s",
        (
            [1, 2, None],
            ["a", "b,c"],
            b"\x00\xff\\",
            uuid.UUID(int=7),
            datetime.timedelta(days=1, seconds=2),
            psycopg2.extras.Json({"a": [1, None]}),
        ),
    )
    return cur.fetchall()


@check
def documents():
    cur.execute(
        "SELECT id, doc->>'name', doc->'n' FROM docs WHERE id = ANY(%s) ORDER BY id", (["no:2294", "fr:1077", "nope"],)
    )
    return cur.fetchall()


@check
def json_filters():
    out = []
    for sql, args in [
        ("SELECT count(*) FROM docs WHERE doc->>'country' = %s", ("NO",)),
        ("SELECT count(*) FROM docs WHERE doc @> %s", (psycopg2.extras.Json({"country": "NO"}),)),
        ("SELECT count(*) FROM docs WHERE doc->'n' > %s", (psycopg2.extras.Json(100),)),
        ("SELECT count(*) FROM docs WHERE id NOT LIKE 'odd%%' AND (doc->>'n')::int BETWEEN %s AND %s", (10, 20)),
        ("SELECT count(*) FROM docs WHERE doc ? %s AND doc->'tags' ? %s", ("tags", "NO")),
        ("SELECT count(*) FROM docs WHERE doc #>> %s = %s", (["nested", "a", "b"], "3")),
        ('SELECT count(*), min(id) FROM "by".country WHERE key = %s', (psycopg2.extras.Json("NO"),)),
        (
            'SELECT id FROM "by".n WHERE key >= %s AND key < %s ORDER BY key',
            (psycopg2.extras.Json(5), psycopg2.extras.Json(9)),
        ),
    ]:
        cur.execute(sql, args)
        out.append(cur.fetchall())
    return out


@check
def dictionaries():
    with conn.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as c:
        c.execute("SELECT id, doc FROM docs WHERE id = %s", ("odd:1",))
        row = c.fetchone()
        row["doc"].pop("_id", None), row["doc"].pop("_rev", None)
        return dict(row)


@check
def server_side_cursor():
    conn.autocommit = False
    try:
        with conn.cursor("many", withhold=False) as c:
            c.itersize = 7
            c.execute("SELECT id FROM docs ORDER BY id LIMIT 30")
            ids = [r[0] for r in c]
        conn.commit()
        with conn.cursor("held", withhold=True) as c:
            c.execute("SELECT id FROM docs ORDER BY id LIMIT 5")
            conn.commit()
            held = c.fetchall()
        return ids, held
    finally:
        conn.rollback()
        conn.autocommit = True


@check
def scrolled():
    out = []
    conn.autocommit = False
    try:
        for scrollable in (True, None, False):
            with conn.cursor("scrolled", scrollable=scrollable) as c:
                c.execute("SELECT id FROM docs ORDER BY id LIMIT 30")
                out.append(c.fetchmany(3))
                for value, mode in [(5, "relative"), (-4, "relative"), (20, "absolute"), (-2, "absolute"), (0, "absolute")]:
                    try:
                        c.scroll(value, mode=mode)
                        out.append((c.fetchone(), c.rownumber))
                    except psycopg2.Error as e:
                        out.append((e.pgcode, str(e).split("\n")[0]))
            conn.rollback()
    finally:
        conn.rollback()
        conn.autocommit = True
    return out


@check
def encodings():
    out = []
    c2 = psycopg2.connect("")
    c2.autocommit = True
    for name in ("WIN1252", "LATIN1", "KOI8R", "SJIS", "GBK", "UHC", "SQL_ASCII", "UTF8"):
        text = {"KOI8R": "\u0436", "SJIS": "\u6771\\\u8868", "GBK": "\u6771", "UHC": "\ud55c"}.get(name, "\xe9")
        try:
            c2.set_client_encoding(name)
            c = c2.cursor()
            c.execute("SELECT %s, %s::jsonb, octet_length(%s)", (text, '["%s"]' % text.replace("\\", ""), text))
            out.append((c2.encoding, c.fetchone()))
            c.execute("SELECT id FROM docs WHERE id = %s", ("nop" + text,))
            out.append(c.fetchall())
            c.execute("SELECT count(*) AS %s, chr(8364)" % ("a" + text.replace("\\", "")))
            out.append((c.description[0].name, c.fetchall()))
        except (psycopg2.Error, UnicodeError) as e:
            out.append((name, getattr(e, "pgcode", None), type(e).__name__))
    c2.close()
    return out


@check
def copies():
    out = []
    for sql in [
        "COPY (SELECT id, doc->>'name' AS name, doc->'n' AS n FROM docs WHERE id LIKE 'n%' ORDER BY id LIMIT 20) TO STDOUT",
        "COPY (SELECT id, doc->>'name' AS name, NULL AS x FROM docs ORDER BY id LIMIT 20) TO STDOUT WITH (FORMAT csv, HEADER, NULL '-')",
        "COPY (SELECT id, doc->>'s' FROM docs WHERE id LIKE 'odd%' ORDER BY id) TO STDOUT",
        "COPY (SELECT id FROM docs WHERE false) TO STDOUT WITH (FORMAT csv, HEADER)",
    ]:
        b = io.StringIO()
        cur.copy_expert(sql, b)
        out.append(b.getvalue())
    return out


@check
def transactions():
    c2 = psycopg2.connect("")
    states = []
    c = c2.cursor()
    c.execute("SELECT 1")
    states.append(c2.info.transaction_status)
    try:
        c.execute("SELECT 1/0")
    except psycopg2.Error as e:
        states.append((e.pgcode, type(e).__name__, e.diag.message_primary))
    states.append(c2.info.transaction_status)
    try:
        c.execute("SELECT 1")
    except psycopg2.Error as e:
        states.append((e.pgcode, type(e).__name__))
    c2.rollback()
    c.execute("SAVEPOINT a")
    try:
        c.execute("SELECT nope FROM docs")
    except psycopg2.Error as e:
        states.append((e.pgcode, e.diag.statement_position))
    c.execute("ROLLBACK TO a")
    c.execute("SELECT 2")
    states.append(c.fetchone())
    c2.commit()
    c2.set_session(isolation_level="REPEATABLE READ", readonly=True)
    c.execute("SHOW transaction_isolation")
    states.append(c.fetchone())
    c.execute("SELECT count(*) FROM docs")
    c.execute("SELECT count(*) FROM docs")
    states.append(c.fetchone())
    c2.commit()
    c2.set_session(deferrable=True)
    c.execute("SHOW transaction_deferrable")
    states.append(c.fetchone())
    c2.close()
    return states


@check
def cancelled():
    timer = threading.Timer(0.2, conn.cancel)
    timer.start()
    try:
        cur.execute("SELECT count(*) FROM generate_series(1, 10000000000)")
    except psycopg2.Error as e:
        return e.pgcode, type(e).__name__
    finally:
        timer.join()


@check
def notices():
    del conn.notices[:]
    cur.execute("ROLLBACK")
    return conn.notices


@check
def execute_values():
    psycopg2.extras.execute_values(
        cur, "SELECT * FROM (VALUES %s) AS t (a, b) ORDER BY a", [(1, "x"), (2, "y"), (3, None)]
    )
    return cur.fetchall()


@check
def encodings():
    conn.set_client_encoding("UTF8")
    cur.execute("SELECT %s", ("\U0001f600 é",))
    return (
        cur.fetchone(),
        conn.encoding,
        conn.server_version // 10000,
        conn.get_parameter_status("standard_conforming_strings"),
    )


@check
def writes_fail():
    out = []
    for sql in ["CREATE TABLE pg_catalog.x (a int)"]:
        try:
            cur.execute(sql)
            out.append("done")
        except psycopg2.Error as e:
            out.append(type(e).__name__ != "")
    return out
