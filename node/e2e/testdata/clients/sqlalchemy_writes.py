from sqlalchemy import (
    Column,
    MetaData,
    Table,
    Text,
    bindparam,
    create_engine,
    delete,
    func,
    insert,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, insert as pg_insert
from sqlalchemy.ext.mutable import MutableDict
from sqlalchemy.orm import Session, declarative_base

from check import check

engine = create_engine("postgresql+psycopg2://", future=True)
meta = MetaData()
docs = Table("docs", meta, Column("id", Text, primary_key=True), Column("doc", JSONB, nullable=False))
Base = declarative_base()


class Doc(Base):
    __tablename__ = "docs"
    id = Column(Text, primary_key=True)
    doc = Column(MutableDict.as_mutable(JSONB), nullable=False)


def own(d):
    return {k: v for k, v in d.items() if k not in ("_id", "_rev")}


def stored(c, like="%"):
    return [
        (i, own(d)) for i, d in c.execute(select(docs.c.id, docs.c.doc).where(docs.c.id.like(like)).order_by(docs.c.id))
    ]


@check
def core():
    with engine.begin() as c:
        r = c.execute(insert(docs).values(id="a", doc={"n": 1}).returning(docs.c.id))
        c.execute(insert(docs), [{"id": "m%d" % i, "doc": {"n": i}} for i in range(5)])
        c.execute(insert(docs).values([{"id": "v%d" % i, "doc": {"n": i}} for i in range(3)]))
        return r.fetchall(), r.inserted_primary_key if r.context.isinsert and not r.returns_rows else None, stored(c)


@check
def upsert():
    with engine.begin() as c:
        q = pg_insert(docs).values([{"id": "a", "doc": {"k": 1}}, {"id": "n", "doc": {"k": 2}}])
        r = c.execute(
            q.on_conflict_do_update(index_elements=["id"], set_={"doc": docs.c.doc.concat(q.excluded.doc)}).returning(
                docs.c.id, docs.c.doc["k"]
            )
        )
        n = c.execute(pg_insert(docs).values(id="a", doc={}).on_conflict_do_nothing())
        return r.fetchall(), n.rowcount, stored(c, "a")


@check
def updates():
    with engine.begin() as c:
        one = c.execute(update(docs).where(docs.c.id.like("m%")).values(doc=func.jsonb_set(docs.c.doc, "{n}", "9")))
        many = c.execute(
            update(docs).where(docs.c.id == bindparam("i")).values(doc=docs.c.doc.concat(bindparam("d", type_=JSONB))),
            [{"i": "m1", "d": {"b": 1}}, {"i": "m2", "d": {"b": 2}}],
        )
        some = c.execute(delete(docs).where(docs.c.doc["n"].astext.cast(Text) == "2").returning(docs.c.id))
        return one.rowcount, many.rowcount, some.fetchall(), stored(c)


@check
def orm():
    with Session(engine) as s:
        s.add_all([Doc(id="o%d" % i, doc={"n": i}) for i in range(4)])
        s.flush()
        found = s.get(Doc, "o1")
        found.doc["more"] = [1, {"x": None}]
        s.commit()
        again = s.get(Doc, "o1")
        out = [own(again.doc)]
        again.doc["twice"] = True
        s.flush()
        s.refresh(again)
        again.doc["thrice"] = True
        s.delete(s.get(Doc, "o2"))
        s.commit()
        return out + [own(s.get(Doc, "o1").doc), s.get(Doc, "o2"), s.query(Doc).filter(Doc.id.like("o%")).count()]


@check
def unit_of_work():
    with Session(engine) as s, s.begin():
        s.add(Doc(id="u1", doc={}))
        try:
            with s.begin_nested():
                s.add(Doc(id="o1", doc={}))
                s.flush()
        except Exception as e:
            code = type(e).__name__, e.orig.pgcode
        with s.begin_nested() as n:
            s.add(Doc(id="u2", doc={}))
            s.flush()
            n.rollback()
        s.add(Doc(id="u3", doc={"last": 1}))
    with engine.connect() as c:
        return code, stored(c, "u%")


@check
def rolled_back():
    with Session(engine) as s:
        s.execute(delete(Doc))
        seen = s.query(Doc).count()
        s.rollback()
        return seen, s.query(Doc).count()


@check
def bulk():
    with Session(engine) as s:
        s.bulk_save_objects([Doc(id="b%d" % i, doc={"i": i}) for i in range(10)])
        s.bulk_insert_mappings(Doc, [{"id": "b1%d" % i, "doc": {"i": i}} for i in range(3)])
        s.bulk_update_mappings(Doc, [{"id": "b1", "doc": {"i": 99}}, {"id": "b2", "doc": {"i": 98}}])
        n = (
            s.query(Doc)
            .filter(Doc.id.like("b%"), Doc.doc["i"].astext == "5")
            .update({"doc": Doc.doc.concat(literal({"five": 5}, JSONB))}, synchronize_session=False)
        )
        m = s.query(Doc).filter(Doc.id == "b10").delete()
        s.commit()
        return n, m, stored(s, "b%")


@check
def merged():
    with Session(engine) as s:
        s.merge(Doc(id="b1", doc={"merged": 1}))
        s.merge(Doc(id="bnew", doc={"merged": 2}))
        s.commit()
        return stored(s, "b1") + stored(s, "bnew")


@check
def stale():
    with Session(engine) as one, Session(engine) as two:
        a, b = one.get(Doc, "u1"), two.get(Doc, "u1")
        one.delete(a)
        one.commit()
        two.rollback()
        b = Doc(id="u1", doc={})
        two.query(Doc).filter(Doc.id == "u1").update({"doc": {}}, synchronize_session=False)
        two.commit()
        return stored(two, "u1")


@check
def reflected():
    m = MetaData()
    t = Table("docs", m, autoload_with=engine)
    with engine.begin() as c:
        r = c.execute(insert(t).values(id="r", doc={"r": 1}))
        c.execute(update(t).where(t.c.id == "r").values(doc={"r": 2}))
        return [x.name for x in t.columns], list(r.inserted_primary_key), stored(c, "r")
