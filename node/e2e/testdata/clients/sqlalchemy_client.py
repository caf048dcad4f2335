import sys

from sqlalchemy import (
    Column,
    Text,
    cast,
    create_engine,
    func,
    inspect,
    select,
    text,
    MetaData,
    Table,
    Integer,
    Float,
    literal,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session, declarative_base

from check import check, PASSWORD, USER, HOST, PORT, DATABASE

engine = create_engine("postgresql+psycopg2://", future=True)
insp = inspect(engine)


@check
def dialect():
    with engine.connect() as c:
        return engine.dialect.server_version_info[0], engine.dialect.default_schema_name, c.get_isolation_level()


@check
def reflection():
    out = {}
    for schema, table in [(None, "docs"), ("by", "country"), ("by", "place")]:
        out[table] = {
            "columns": [
                (c["name"], str(c["type"]), c["default"], c.get("computed"))
                for c in insp.get_columns(table, schema=schema)
            ],
            "foreign": insp.get_foreign_keys(table, schema=schema),
            "unique": insp.get_unique_constraints(table, schema=schema),
            "checks": insp.get_check_constraints(table, schema=schema),
            "indexes": insp.get_indexes(table, schema=schema),
        }
    out["pk"] = insp.get_pk_constraint("docs")
    return out


@check
def listings():
    return [
        "by" in insp.get_schema_names(),
        "docs" in insp.get_table_names(),
        insp.get_sequence_names(),
        insp.get_enums(),
        insp.has_table("docs"),
        insp.has_table("nope"),
        insp.has_table("country", schema="by"),
    ]


@check
def autoload():
    m = MetaData()
    docs = Table("docs", m, autoload_with=engine)
    by = Table("country", m, schema="by", autoload_with=engine)
    with engine.connect() as c:
        rows = [
            tuple(r)
            for r in c.execute(select(by.c.id, by.c.value).where(by.c.key == cast("IS", JSONB)).order_by(by.c.id))
        ]
        return [docs.c.keys(), [c.name for c in docs.primary_key], rows]


Base = declarative_base()


class Doc(Base):
    __tablename__ = "docs"
    id = Column(Text, primary_key=True)
    rev = Column(Text)
    doc = Column(JSONB)


class Country(Base):
    __tablename__ = "country"
    __table_args__ = {"schema": "by"}
    id = Column(Text, primary_key=True)
    key = Column(JSONB)
    value = Column(JSONB)


@check
def orm():
    with Session(engine) as s:
        d = s.get(Doc, "no:2294")
        one = s.execute(select(Doc).where(Doc.doc["country"].astext == "NO").order_by(Doc.id).limit(1)).scalar_one()
        return d.doc["name"], one.id


@check
def json_filters():
    out = []
    with Session(engine) as s:
        real = ~Doc.id.like("odd%")
        for cond in [
            Doc.doc["country"].astext == "NO",
            Doc.doc["n"] == cast(literal(100, JSONB), JSONB),
            Doc.doc[("nested", "a", "b")].astext == "3",
            Doc.doc["n"].astext.cast(Integer) > 3000,
            Doc.doc["lat"].as_float() > 60,
            Doc.doc["n"].as_integer() == 7,
            Doc.doc["big"].as_boolean() == True,  # noqa: E712
            Doc.doc["name"].as_string().like("A%"),
            Doc.doc.contains({"country": "NO"}),
            Doc.doc.has_key("tags"),
            Doc.doc.has_all(["tags", "name"]),
            Doc.doc.has_any(["nope", "name"]),
            Doc.doc.op("->")("tags").op("?")("NO"),
            Doc.doc["nope"] == None,  # noqa: E711
            Doc.doc["tags"] == ["NO", 0],
        ]:
            try:
                out.append(s.execute(select(func.count(), func.min(Doc.id)).where(real, cond)).one())
            except Exception as e:
                s.rollback()
                out.append(getattr(e, "orig", e).__class__.__name__)
        for cond in [
            Country.key == cast("NO", JSONB),
            Country.key.in_([cast("NO", JSONB), cast("IS", JSONB)]),
            Country.key == None,  # noqa: E711
            Country.value > cast(100, JSONB),
        ]:
            try:
                out.append(s.execute(select(func.count(), func.min(Country.id)).where(cond)).one())
            except Exception as e:
                s.rollback()
                out.append(getattr(e, "orig", e).__class__.__name__)
    return out


@check
def grouping():
    with Session(engine) as s:
        c = Doc.doc["country"].astext.label("c")
        return s.execute(
            select(c, func.count().label("n"), func.avg(Doc.doc["lat"].astext.cast(Float)))
            .where(~Doc.id.like("odd%"))
            .group_by(c)
            .having(func.count() > 80)
            .order_by(text("n DESC"), c)
        ).all()


@check
def streams():
    with engine.connect().execution_options(stream_results=True, max_row_buffer=10) as c:
        return len([r for r in c.execute(select(Doc.id).order_by(Doc.id).limit(100))])


@check
def isolation():
    with engine.connect().execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True) as c:
        return c.get_isolation_level(), c.execute(text("SELECT count(*) FROM docs")).scalar()


@check
def errors():
    out = []
    with engine.connect() as c:
        for q in ["SELECT nope", "SELECT * FROM nope", "SELEC"]:
            try:
                c.execute(text(q))
            except Exception as e:
                out.append((type(e).__name__, e.orig.pgcode))
                c.rollback()
    return out
