"""What the Python clients' scripts share: a check prints its name and what it found, as JSON."""
import datetime
import decimal
import json
import os
import sys
import uuid


def plain(v):
    if isinstance(v, (datetime.datetime, datetime.date, datetime.time, datetime.timedelta, uuid.UUID, decimal.Decimal)):
        return str(v)
    if isinstance(v, (bytes, bytearray, memoryview)):
        return bytes(v).hex()
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {str(k): plain(x) for k, x in v.items()}
    if isinstance(v, (str, int, float, bool)) or v is None:
        return v
    if hasattr(v, "items") and hasattr(v, "keys"):
        return {str(k): plain(x) for k, x in v.items()}
    return str(v)


def show(name, value):
    print(name + "\t" + json.dumps(plain(value), sort_keys=True, ensure_ascii=False))
    sys.stdout.flush()


def check(f):
    """Runs a check and shows what it returns, or how it failed."""
    try:
        show(f.__name__, f())
    except Exception as e:  # both servers must fail in the same way
        code = getattr(e, "pgcode", None) or getattr(e, "sqlstate", None)
        if code is None and getattr(e, "orig", None) is not None:
            code = getattr(e.orig, "pgcode", None)
        if code is None and e.__cause__ is not None:
            code = getattr(e.__cause__, "pgcode", None)
        show(f.__name__, "%s %s" % (type(e).__name__, code or e))
    return f


HOST, PORT = os.environ["PGHOST"], os.environ["PGPORT"]
USER, DATABASE = os.environ["PGUSER"], os.environ["PGDATABASE"]
PASSWORD = os.environ.get("PGPASSWORD")
