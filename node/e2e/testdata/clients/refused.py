# Runs the given statements with psycopg, one after the other on one connection, and prints the codes, or why it cannot
# connect.
import json
import os

import psycopg

try:
    conn = psycopg.connect("", autocommit=True)
except psycopg.OperationalError as e:
    print(str(e).strip().split("FATAL:  ")[-1])
    raise SystemExit
for sql in json.loads(os.environ["STATEMENTS"]):
    try:
        conn.execute(sql)
        print("ok")
    except psycopg.Error as e:
        print(e.sqlstate)
