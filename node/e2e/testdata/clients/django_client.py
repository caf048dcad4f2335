import io
import sys

import django
from django.conf import settings

from check import check, DATABASE, HOST, PASSWORD, PORT, USER

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": DATABASE,
            "USER": USER,
            "PASSWORD": PASSWORD or "",
            "HOST": HOST,
            "PORT": PORT,
        }
    },
    INSTALLED_APPS=["django.contrib.postgres"],
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection, models, transaction  # noqa: E402
from django.db.models import Avg, Count, F, Max, Q, Sum  # noqa: E402
from django.db.models.fields.json import KeyTextTransform, KeyTransform  # noqa: E402
from django.db.models.functions import Cast, Length, Lower  # noqa: E402


class Doc(models.Model):
    id = models.TextField(primary_key=True)
    rev = models.TextField()
    doc = models.JSONField()

    class Meta:
        managed = False
        app_label = "cities"
        db_table = "docs"


class Row(models.Model):
    id = models.TextField(primary_key=True)
    key = models.JSONField()
    value = models.JSONField()

    class Meta:
        abstract = True
        managed = False
        app_label = "cities"


class Country(Row):
    class Meta(Row.Meta):
        db_table = 'by"."country'


class Place(Row):
    class Meta(Row.Meta):
        db_table = 'by"."place'


real = Doc.objects.exclude(id__startswith="odd")


@check
def inspected():
    out = io.StringIO()
    call_command("inspectdb", "docs", stdout=out)
    return [l for l in out.getvalue().splitlines() if not l.startswith("#")]


@check
def introspection():
    with connection.cursor() as c:
        i = connection.introspection
        return (
            "docs" in i.table_names(c),
            i.get_table_description(c, "docs"),
            i.get_sequences(c, "docs"),
            i.get_relations(c, "docs"),
            i.get_primary_key_column(c, "docs"),
            sorted(i.get_constraints(c, "docs")),
            connection.pg_version // 10000,
        )


@check
def lookups():
    return [
        Doc.objects.get(pk="no:2294").doc["name"],
        Doc.objects.filter(pk__in=["no:2294", "fr:1077", "x"]).count(),
        Doc.objects.filter(pk="nope").exists(),
        Doc.objects.filter(pk="no:2294").exists(),
        list(Doc.objects.filter(id__startswith="no-").order_by("-id").values_list("id", flat=True)[2:5]),
        list(Doc.objects.filter(id__iexact="NO:2294").values_list("id", flat=True)),
        list(Doc.objects.filter(id__icontains="O-229").order_by("id").values_list("id", flat=True)),
        list(Doc.objects.filter(id__regex=r"^no:229\d$").order_by("id").values_list("id", flat=True)),
        list(Doc.objects.filter(id__gt="zw").order_by("id").values_list("id", flat=True)),
        Doc.objects.filter(Q(id="fr:1077") | Q(id="no:2294")).count(),
    ]


filters = {
    "text": Q(doc__country="NO"),
    "number": Q(doc__n=2294),
    "boolean": Q(doc__big=True),
    "null": Q(doc__n=None),
    "greater": Q(doc__n__gt=3400),
    "less": Q(doc__n__lte=3),
    "range": Q(doc__n__gte=10, doc__n__lt=20),
    "float": Q(doc__lat__gt=65.5),
    "path": Q(doc__nested__a__b=3),
    "array index": Q(doc__tags__0="NO"),
    "array": Q(doc__tags=["NO", 0]),
    "object": Q(doc__nested__a={"b": 3}),
    "in": Q(doc__country__in=["NO", "IS"]),
    "number in": Q(doc__n__in=[1, 2, 3]),
    "contains": Q(doc__contains={"country": "NO"}),
    "contained": Q(doc__nested__contained_by={"a": {"b": 1}, "s": "x1"}),
    "array contains": Q(doc__tags__contains=["NO"]),
    "has key": Q(doc__has_key="tags"),
    "has keys": Q(doc__has_keys=["tags", "name"]),
    "has any": Q(doc__has_any_keys=["nope", "name"]),
    "path has key": Q(doc__nested__has_key="s"),
    "isnull": Q(doc__nope__isnull=True),
    "not isnull": Q(doc__n__isnull=False),
    "icontains": Q(doc__name__icontains="oSl"),
    "startswith": Q(doc__name__startswith="Os"),
    "iexact": Q(doc__name__iexact="oslo"),
    "regex": Q(doc__name__regex="^O.*o$"),
    "endswith": Q(doc__name__endswith="berg"),
    "not": ~Q(doc__country="NO"),
    "not equal number": ~Q(doc__n=5),
}


def filtered(name, cond):
    def f():
        q = real.filter(cond)
        return q.count(), list(q.order_by("id").values_list("id", flat=True)[:3])

    f.__name__ = "filter " + name
    check(f)


for name, cond in filters.items():
    filtered(name, cond)


@check
def views():
    return [
        Country.objects.filter(key="NO").count(),
        list(Country.objects.filter(value__gt=3420).order_by("id").values_list("id", "value")),
        list(Place.objects.filter(key__0="IS").order_by("id").values_list("id", "key")[:2]),
        Place.objects.filter(value__lat__gt=65.5).count(),
        list(
            Country.objects.filter(key__in=["NO", "IS"])
            .values("key")
            .annotate(n=Count("id"), s=Max("id"))
            .order_by("key")
        ),
    ]


@check
def aggregates():
    out = [real.aggregate(n=Count("id"), last=Max("id"), width=Avg(Length("id")))]
    out.append(
        list(
            real.annotate(c=KeyTextTransform("country", "doc"))
            .values("c")
            .annotate(n=Count("id"))
            .filter(n__gt=80)
            .order_by("-n", "c")
        )
    )
    out.append(
        real.annotate(n=Cast(KeyTextTransform("n", "doc"), models.IntegerField())).aggregate(s=Sum("n"), m=Max("n"))
    )
    out.append(list(real.values_list(Lower(KeyTextTransform("name", "doc")), flat=True).order_by("id")[:3]))
    out.append(real.values("doc__country").distinct().count())
    return out


@check
def iterates():
    return sum(1 for _ in Doc.objects.order_by("id").iterator(chunk_size=100))


@check
def transactions():
    with transaction.atomic():
        n = Doc.objects.count()
        try:
            with transaction.atomic():
                Doc.objects.raw("SELECT nope FROM docs")[0]
        except Exception as e:
            return n, type(e).__name__, e.__cause__.pgcode, Doc.objects.count()


@check
def raw():
    with connection.cursor() as c:
        c.execute("SELECT id, doc->'n' FROM docs WHERE id = %s AND doc->>'country' = %s", ["no:2294", "NO"])
        return c.fetchall(), [d[0] for d in c.description], connection.queries_logged is not None


@check
def explained():
    return isinstance(Doc.objects.filter(pk="x").explain(), str)
