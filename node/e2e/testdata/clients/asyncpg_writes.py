import asyncio
import json

import asyncpg

from check import check


async def main():
    conn = await asyncpg.connect()
    await conn.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog", format="text")

    async def stored(like="%"):
        return await conn.fetch("SELECT id, doc - '_id' - '_rev' AS doc FROM docs WHERE id LIKE $1 ORDER BY id", like)

    async def show(name, coroutine):
        async def run():
            try:
                return await coroutine
            except asyncpg.PostgresError as e:
                return [type(e).__name__, e.sqlstate]

        found = await run()
        f = lambda: found  # noqa: E731
        f.__name__ = name
        check(f)

    async def insert():
        return await conn.fetchrow(
            "INSERT INTO docs (id, doc) VALUES ($1, $2) RETURNING id, doc->'n' AS n", "a", {"n": 1}
        ), await conn.execute("INSERT INTO docs (id, doc) VALUES ($1, $2)", "b", {"n": 2})

    async def many():
        await conn.executemany("INSERT INTO docs (id, doc) VALUES ($1, $2)", [("m%d" % i, {"n": i}) for i in range(30)])
        try:
            await conn.executemany("INSERT INTO docs (id, doc) VALUES ($1, $2)", [("n1", {}), ("a", {}), ("n2", {})])
        except asyncpg.UniqueViolationError as e:
            return await stored("m2%"), e.sqlstate, await stored("n%")

    async def copied():
        await conn.set_type_codec(
            "jsonb",
            encoder=lambda v: b"\x01" + json.dumps(v).encode(),
            decoder=lambda b: json.loads(b[1:]),
            schema="pg_catalog",
            format="binary",
        )
        tag = await conn.copy_records_to_table(
            "docs", records=[("c%d" % i, {"n": i}) for i in range(5)], columns=["id", "doc"]
        )
        return tag, await stored("c%")

    async def transactions():
        async with conn.transaction():
            await conn.execute("UPDATE docs SET doc = doc || $1 WHERE id = $2", {"t": 1}, "a")
            try:
                async with conn.transaction():
                    await conn.execute("DELETE FROM docs")
                    raise KeyError
            except KeyError:
                pass
            seen = await stored("a")
        return seen, await stored("b")

    async def cursors():
        async with conn.transaction():
            await conn.execute("INSERT INTO docs (id, doc) SELECT 'k' || i, '{}' FROM generate_series(1, 9) i")
            return [
                r["id"] async for r in conn.cursor("SELECT id FROM docs WHERE id LIKE 'k%' ORDER BY id", prefetch=4)
            ]

    async def returning_portal():
        async with conn.transaction():
            return [
                r["id"]
                async for r in conn.cursor("UPDATE docs SET doc = '{}' WHERE id LIKE 'k%' RETURNING id", prefetch=4)
            ], await stored("k1")

    async def prepared():
        p = await conn.prepare("DELETE FROM docs WHERE id = $1 RETURNING doc->'n' AS n")
        return (
            [a.name for a in p.get_attributes()],
            [a.name for a in p.get_parameters()],
            await p.fetch("m1"),
            await p.fetch("m1"),
            p.get_statusmsg(),
        )

    async def duplicate():
        await conn.execute("INSERT INTO docs (id, doc) VALUES ('a', '{}')")

    async def serializable():
        two = await asyncpg.connect()
        try:
            async with conn.transaction(isolation="serializable"):
                await conn.fetch("SELECT * FROM docs WHERE id = 'a'")
                await two.execute("UPDATE docs SET doc = '{}' WHERE id = 'a'")
                await conn.execute("UPDATE docs SET doc = '{\"lost\": 1}' WHERE id = 'a'")
        finally:
            await two.close()

    for f in (insert, many, copied, transactions, cursors, returning_portal, prepared, duplicate, serializable):
        await show(f.__name__, f())
    await conn.close()


asyncio.run(main())
