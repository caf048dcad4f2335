import asyncio
import datetime
import decimal
import io
import json
import uuid

import asyncpg

from check import show

loop = asyncio.new_event_loop()


def check(f):
    async def run():
        try:
            show(f.__name__, await asyncio.wait_for(f(), 20))
        except Exception as e:
            show(f.__name__, "%s %s" % (type(e).__name__, getattr(e, "sqlstate", None) or e))

    loop.run_until_complete(run())


conn = loop.run_until_complete(asyncpg.connect())


@check
async def parameters():
    out = []
    for typ, v in [
        ("int4", 1),
        ("int8", 2**40),
        ("float8", 1.5),
        ("numeric", decimal.Decimal("12.340")),
        ("text", "it's é"),
        ("bool", True),
        ("date", datetime.date(2024, 2, 29)),
        ("timestamptz", datetime.datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=datetime.timezone.utc)),
        ("timestamp", datetime.datetime(2024, 1, 2, 3, 4, 5)),
        ("interval", datetime.timedelta(days=1, seconds=2)),
        ("uuid", uuid.UUID(int=7)),
        ("bytea", b"\x00\xff"),
        ("int4[]", [1, 2, None]),
        ("text[]", ["a", "b,c"]),
        ("jsonb", '{"a": [1, null]}'),
        ("json", "[1]"),
        ("text", None),
    ]:
        out.append(await conn.fetchval("SELECT $1::" + typ, v))
    return out


@check
async def documents():
    rows = await conn.fetch(
        "SELECT id, doc->>'name' AS name, doc->'n' AS n FROM docs WHERE id = ANY($1) ORDER BY id",
        ["no:2294", "fr:1077"],
    )
    return [tuple(r) for r in rows]


@check
async def json_filters():
    out = []
    for sql, *args in [
        ("SELECT count(*) FROM docs WHERE doc->>'country' = $1", "NO"),
        ("SELECT count(*) FROM docs WHERE doc @> $1", '{"country": "NO"}'),
        ("SELECT count(*) FROM docs WHERE doc->'n' > $1", "100"),
        ("SELECT count(*) FROM docs WHERE doc ? $1", "tags"),
        ('SELECT count(*), min(id) FROM "by".country WHERE key = $1', '"NO"'),
        ("SELECT count(*) FROM docs WHERE (doc->>'lat')::float8 > $1 AND id NOT LIKE $2", 60.0, "odd%"),
    ]:
        out.append([tuple(r) for r in await conn.fetch(sql, *args)])
    return out


@check
async def codecs():
    # Looks up the type in the catalogue.
    await conn.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
    doc = await conn.fetchval("SELECT doc->'nested' FROM docs WHERE id = $1", "no:2294")
    n = await conn.fetchval("SELECT count(*) FROM docs WHERE doc @> $1", {"country": "NO"})
    await conn.reset_type_codec("jsonb", schema="pg_catalog")
    return doc, n


@check
async def introspected_types():
    # A type that asyncpg looks up with its long recursive statement.
    return await conn.fetchval("SELECT array_agg(c) FROM (SELECT 1::int2 AS c) s"), [
        str(r)
        for r in await conn.fetch("SELECT '1 2'::int2vector, 'x'::name, 5::oid, 'docs'::regclass = 'docs'::regclass")
    ]


@check
async def cursors():
    out = []
    async with conn.transaction():
        async for r in conn.cursor("SELECT id FROM docs ORDER BY id LIMIT 20", prefetch=6):
            out.append(r[0])
        c = await conn.cursor("SELECT id FROM docs ORDER BY id")
        out.append([r[0] for r in await c.fetch(3)])
        await c.forward(5)
        out.append((await c.fetchrow())[0])
    return out


@check
async def copies():
    out = []
    for fmt in ("text", "csv", "binary"):
        b = io.BytesIO()
        await conn.copy_from_query(
            "SELECT id, doc->>'name' FROM docs WHERE id > $1 ORDER BY id LIMIT 8", "n", output=b, format=fmt
        )
        out.append(b.getvalue())
    b = io.BytesIO()
    tag = await conn.copy_from_table("country", schema_name="by", columns=["id"], output=b)
    out.append((tag, len(b.getvalue())))
    return out


@check
async def transactions():
    out = []
    try:
        async with conn.transaction(isolation="repeatable_read", readonly=True):
            out.append(await conn.fetchval("SHOW transaction_isolation"))
            out.append(await conn.fetchval("SELECT count(*) FROM docs"))
            await conn.fetchval("SELECT 1/0")
    except asyncpg.PostgresError as e:
        out.append((e.sqlstate, e.message))
    async with conn.transaction(isolation="serializable", readonly=True, deferrable=True):
        out.append(await conn.fetchval("SELECT 1"))
    try:
        await conn.fetch("SELECT nope FROM docs WHERE id = $1", "x")
    except asyncpg.PostgresError as e:
        out.append((e.sqlstate, e.message, e.position))
    return out


@check
async def timed_out():
    try:
        await conn.fetchval("SELECT count(*) FROM generate_series(1, 10000000000)", timeout=0.2)
    except asyncio.TimeoutError:
        return "timed out", await conn.fetchval("SELECT 1")


@check
async def pools():
    async with asyncpg.create_pool(min_size=2, max_size=3) as pool:
        # Returning a connection to the pool resets it: RESET ALL, UNLISTEN *, CLOSE ALL, pg_advisory_unlock_all().
        out = []
        for i in range(5):
            async with pool.acquire() as c:
                out.append(await c.fetchval("SELECT $1::int", i))
                await c.execute("SET application_name = 'mine'")
        async with pool.acquire() as c:
            out.append(await c.fetchval("SHOW application_name"))
        return out


@check
async def many():
    return await conn.executemany("SELECT $1::int", [(1,), (2,), (3,)])


@check
async def prepared():
    st = await conn.prepare("SELECT id, doc, $2::int AS n FROM docs WHERE id = $1")
    return (
        [str(p) for p in st.get_parameters()],
        [(a.name, a.type.name) for a in st.get_attributes()],
        await st.fetchval("nope", 1),
        st.get_statusmsg(),
    )


@check
async def settings():
    s = conn.get_settings()
    return s.client_encoding, s.TimeZone, s.DateStyle, s.integer_datetimes, conn.get_server_version().major


loop.run_until_complete(conn.close())
