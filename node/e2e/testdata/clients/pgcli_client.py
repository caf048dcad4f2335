# The statements of pgcli's completions and backslash commands, through its own code.
from pgcli.pgexecute import PGExecute
from pgspecial.main import PGSpecial

from check import check, DATABASE, HOST, PASSWORD, PORT, USER

e = PGExecute(DATABASE, USER, PASSWORD, HOST, PORT, None)
special = PGSpecial()


def ran(sql):
    out = []
    for title, rows, headers, status, _, success, _ in e.run(sql, special):
        out.append(
            (
                list(headers or []),
                [list(r) for r in rows] if rows is not None else None,
                status.split("\n")[0] if status else None,
                success,
            )
        )
    return out


@check
def names():
    return (
        "by" in list(e.schemata()),
        ("public", "docs") in list(e.tables()),
        list(e.search_path()),
        e.short_host is not None,
        DATABASE in list(e.databases()),
        list(e.foreignkeys()),
    )


@check
def columns():
    both = list(e.table_columns()) + list(e.view_columns())
    return sorted((c[1], c[2], c[3]) for c in both if c[1] in ("docs", "country"))


@check
def functions():
    return len([f.func_name for f in e.functions()]) > 100, len(list(e.datatypes())) >= 0


@check
def statements():
    return (
        ran("SELECT id, doc->'n' AS n FROM docs WHERE id = 'no:2294'; SELECT count(*) FROM docs"),
        ran("BEGIN"),
        ran("ROLLBACK"),
    )


@check
def commands():
    out = []
    for c in [
        r"\dn by",
        r"\l nope",
        r"\dt nope",
        r"\du nope",
        r"\dT nope",
        r"\df nope",
        r"\di nope",
        r"\dx nope",
        r"\d docs",
    ]:
        r = ran(c)
        out.append((c, [(h, s) for h, _, _, s in r]))
    return out


@check
def failed():
    return [type(x).__name__ for x in [0]], ran("SELECT 1 AS one")
