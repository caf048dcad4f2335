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

from django.db import IntegrityError, connection, models, transaction  # noqa: E402
from django.db.models import Case, F, Func, Value, When  # noqa: E402
from django.db.models.functions import Cast  # noqa: E402


class Doc(models.Model):
    id = models.TextField(primary_key=True)
    doc = models.JSONField()

    class Meta:
        managed = False
        app_label = "cities"
        db_table = "docs"


def own(d):
    return {k: v for k, v in d.items() if k not in ("_id", "_rev")}


def stored(prefix=""):
    return [(d.id, own(d.doc)) for d in Doc.objects.filter(id__startswith=prefix).order_by("id")]


@check
def create():
    Doc.objects.create(id="a", doc={"n": 1})
    d = Doc(id="b", doc={"n": 2, "tags": ["x", None]})
    d.save()
    d.doc["more"] = True
    d.save()
    Doc(id="c", doc={}).save(force_insert=True)
    return stored()


@check
def loaded_and_saved():
    d = Doc.objects.get(id="b")
    d.doc["again"] = 1
    d.save()
    d.refresh_from_db()
    d.doc["and"] = 2
    d.save(update_fields=["doc"])
    return stored("b")


@check
def bulk():
    made = Doc.objects.bulk_create([Doc(id="m%02d" % i, doc={"n": i}) for i in range(30)], batch_size=10)
    again = Doc.objects.bulk_create([Doc(id="m01", doc={}), Doc(id="m99", doc={})], ignore_conflicts=True)
    some = list(Doc.objects.filter(id__in=["m01", "m02", "m03"]))
    for d in some:
        d.doc = {"bulk": d.id}
    Doc.objects.bulk_update(some, ["doc"], batch_size=2)
    return len(made), len(again), stored("m0")


@check
def get_or_create():
    out = []
    for id in ("a", "g"):
        d, made = Doc.objects.get_or_create(id=id, defaults={"doc": {"made": 1}})
        out.append([own(d.doc), made])
    for id in ("a", "u"):
        d, made = Doc.objects.update_or_create(id=id, defaults={"doc": {"updated": id}})
        out.append([own(d.doc), made])
    return out, stored("a"), stored("u")


class JSONBSet(Func):
    function = "jsonb_set"
    output_field = models.JSONField()


@check
def expressions():
    n = Doc.objects.filter(doc__n__gte=25).update(
        doc=JSONBSet(
            F("doc"),
            Value("{n}"),
            Func(Cast(F("doc__n"), models.IntegerField()) + 100, function="to_jsonb", output_field=models.JSONField()),
        )
    )
    m = Doc.objects.filter(id__startswith="m0").update(
        doc=Case(When(id="m04", then=Value({"four": 4}, output_field=models.JSONField())), default=F("doc"))
    )
    return n, m, stored("m2")[-2:], stored("m04")


@check
def deletes():
    d = Doc.objects.get(id="c")
    one = d.delete()
    return (
        one,
        Doc.objects.filter(doc__n__lt=20, id__startswith="m").delete(),
        Doc.objects.filter(id="nope").delete(),
        Doc.objects.count(),
    )


@check
def atomic():
    out = []
    with transaction.atomic():
        Doc.objects.create(id="t1", doc={})
        try:
            with transaction.atomic():
                Doc.objects.create(id="t2", doc={})
                Doc.objects.create(id="t1", doc={})
        except IntegrityError as e:
            out.append(e.__cause__.pgcode)
        sid = transaction.savepoint()
        Doc.objects.all().delete()
        out.append(Doc.objects.count())
        transaction.savepoint_rollback(sid)
        Doc.objects.create(id="t3", doc={})
    try:
        with transaction.atomic():
            Doc.objects.all().delete()
            raise KeyError
    except KeyError:
        pass
    return out, stored("t")


@check
def locked():
    with transaction.atomic():
        d = Doc.objects.select_for_update().get(id="a")
        d.doc["locked"] = True
        d.save()
    with transaction.atomic():
        return stored("a"), [x.id for x in Doc.objects.select_for_update(skip_locked=True).filter(id__startswith="t")]


@check
def unlocked():
    return Doc.objects.select_for_update().get(id="a")


@check
def raw():
    with connection.cursor() as c:
        c.execute("INSERT INTO docs (id, doc) VALUES (%s, %s) RETURNING id", ["raw", '{"r": 1}'])
        row = c.fetchone()
        c.execute("UPDATE docs SET doc = %s WHERE id = %s", ['{"r": 2}', "raw"])
        return row, c.rowcount, stored("raw")


@check
def in_bulk():
    return (
        sorted((k, own(v.doc)) for k, v in Doc.objects.in_bulk(["raw", "t1"]).items()),
        Doc.objects.filter(pk="raw").exists(),
        Doc.objects.filter(id__in=["t1", "t3"])._raw_delete("default"),
    )
