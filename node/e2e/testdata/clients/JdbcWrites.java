// What pgjdbc writes: batches, rewritten ones, generated keys, updatable result sets, COPY. A check prints its name and
// what it found.

import java.io.StringReader;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.postgresql.PGConnection;
import org.postgresql.util.PGobject;
import org.postgresql.util.PSQLException;

public class JdbcWrites {
  interface Check {
    Object find() throws Exception;
  }

  static String prefix;
  static Connection conn;

  static void check(String name, Check c) throws SQLException {
    Object found;
    try {
      found = c.find();
    } catch (SQLException e) {
      found = "error " + e.getSQLState();
    } catch (Exception e) {
      found = "error " + e;
    }
    if (!conn.getAutoCommit()) {
      conn.rollback();
      conn.setAutoCommit(true);
    }
    System.out.println(prefix + name + "\t" + String.valueOf(found).replace("\n", "\\n"));
  }

  static Connection connect(String... more) throws SQLException {
    Properties p = new Properties();
    p.setProperty("user", System.getenv("PGUSER"));
    if (System.getenv("PGPASSWORD") != null) p.setProperty("password", System.getenv("PGPASSWORD"));
    p.setProperty("sslmode", System.getenv("PGSSLMODE"));
    if (System.getenv("PGSSLROOTCERT") != null) p.setProperty("sslrootcert", System.getenv("PGSSLROOTCERT"));
    for (int i = 0; i < more.length; i += 2) p.setProperty(more[i], more[i + 1]);
    String at = System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
    return DriverManager.getConnection("jdbc:postgresql://" + at, p);
  }

  static PGobject json(String text) throws SQLException {
    PGobject o = new PGobject();
    o.setType("jsonb");
    o.setValue(text);
    return o;
  }

  static List<String> rows(String sql) throws SQLException {
    List<String> out = new ArrayList<>();
    try (Statement s = conn.createStatement(); ResultSet r = s.executeQuery(sql)) {
      while (r.next()) {
        StringBuilder line = new StringBuilder();
        for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) {
          line.append(i > 1 ? " " : "").append(r.getString(i));
        }
        out.add(line.toString());
      }
    }
    return out;
  }

  static List<String> stored(String like) throws SQLException {
    return rows("SELECT id, doc - '_id' - '_rev' FROM docs WHERE id LIKE '" + like + "' ORDER BY id");
  }

  static PreparedStatement insert() throws SQLException {
    return conn.prepareStatement("INSERT INTO docs (id, doc) VALUES (?, ?)");
  }

  static void all() throws Exception {
    check("insert", () -> {
      PreparedStatement p = insert();
      p.setString(1, "a");
      p.setObject(2, json("{\"n\": 1}"));
      int n = p.executeUpdate();
      p.setString(1, "b");
      return n + " " + p.executeLargeUpdate() + " " + p.getParameterMetaData().getParameterTypeName(2) + " "
          + stored("%");
    });
    check("batch", () -> {
      PreparedStatement p = insert();
      for (int i = 0; i < 300; i++) {
        p.setString(1, "m" + i);
        p.setObject(2, json("{\"n\": " + i + "}"));
        p.addBatch();
      }
      int[] n = p.executeBatch();
      return n.length + " " + (Arrays.stream(n).sum() == 300 || n[0] == Statement.SUCCESS_NO_INFO) + " "
          + stored("m29_");
    });
    check("failing batch", () -> {
      PreparedStatement p = insert();
      for (String id : new String[] {"f1", "a", "f2"}) {
        p.setString(1, id);
        p.setObject(2, json("{}"));
        p.addBatch();
      }
      try {
        p.executeBatch();
        return "no error";
      } catch (BatchUpdateException e) {
        return e.getSQLState() + " " + Arrays.toString(e.getUpdateCounts()) + " " + stored("f%");
      }
    });
    check("statements in a batch", () -> {
      conn.setAutoCommit(false);
      Statement s = conn.createStatement();
      s.addBatch("INSERT INTO docs (id, doc) VALUES ('s1', '{}'), ('s2', '{}')");
      s.addBatch("UPDATE docs SET doc = '{\"s\": 1}' WHERE id LIKE 's%'");
      s.addBatch("DELETE FROM docs WHERE id = 's2'");
      int[] n = s.executeBatch();
      conn.commit();
      return Arrays.toString(n) + stored("s%");
    });
    check("generated keys", () -> {
      PreparedStatement p = conn.prepareStatement("INSERT INTO docs (id, doc) VALUES (?, '{}')", new String[] {"id"});
      p.setString(1, "g");
      int n = p.executeUpdate();
      ResultSet keys = p.getGeneratedKeys();
      keys.next();
      PreparedStatement every = conn.prepareStatement("UPDATE docs SET doc = '{\"g\": 2}' WHERE id = 'g'",
          Statement.RETURN_GENERATED_KEYS);
      int m = every.executeUpdate();
      ResultSet r = every.getGeneratedKeys();
      r.next();
      return n + " " + keys.getString(1) + " " + m + " " + r.getString("id") + " " + (r.getString("rev") != null);
    });
    check("execute", () -> {
      Statement s = conn.createStatement();
      List<Object> out = new ArrayList<>();
      boolean rows = s.execute("INSERT INTO docs (id) VALUES ('x1'); "
          + "UPDATE docs SET doc = '{}' WHERE id LIKE 'x%' RETURNING id; DELETE FROM docs WHERE id = 'x1'");
      for (int i = 0; i < 4; i++) {
        out.add(rows + " " + s.getUpdateCount());
        rows = s.getMoreResults();
      }
      return out;
    });
    check("fetch size", () -> {
      conn.setAutoCommit(false);
      PreparedStatement p = conn.prepareStatement(
          "UPDATE docs SET doc = doc || '{\"f\": 1}' WHERE id LIKE 'm1%' RETURNING id");
      p.setFetchSize(7);
      int n = 0;
      try (ResultSet r = p.executeQuery()) {
        while (r.next()) n++;
      }
      PreparedStatement d = conn.prepareStatement("DELETE FROM docs WHERE id LIKE 'm2%' RETURNING id");
      d.setMaxRows(3);
      int m = 0;
      try (ResultSet r = d.executeQuery()) {
        while (r.next()) m++;
      }
      conn.commit();
      return n + " " + m + " " + rows("SELECT count(*) FROM docs WHERE id LIKE 'm%'");
    });
    check("updatable", () -> {
      Statement s = conn.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
      ResultSet r = s.executeQuery("SELECT id, doc FROM docs WHERE id IN ('a', 'b') ORDER BY id");
      r.next();
      r.updateObject("doc", json("{\"updated\": true}"));
      r.updateRow();
      r.next();
      r.deleteRow();
      r.moveToInsertRow();
      r.updateString("id", "inserted");
      r.updateObject("doc", json("{\"i\": 1}"));
      r.insertRow();
      return stored("a") + "" + stored("b") + stored("inserted");
    });
    check("savepoints", () -> {
      conn.setAutoCommit(false);
      conn.createStatement().executeUpdate("INSERT INTO docs (id) VALUES ('t1')");
      Savepoint p = conn.setSavepoint("p");
      String code = "";
      try {
        conn.createStatement().executeUpdate("INSERT INTO docs (id) VALUES ('t1')");
      } catch (PSQLException e) {
        code = e.getSQLState() + " " + e.getServerErrorMessage().getConstraint() + " "
            + e.getServerErrorMessage().getTable();
      }
      conn.rollback(p);
      int n = conn.createStatement().executeUpdate("UPDATE docs SET doc = '{\"t\": 1}' WHERE id = 't1'");
      conn.releaseSavepoint(p);
      conn.commit();
      return code + " " + n + stored("t%");
    });
    check("rollback", () -> {
      conn.setAutoCommit(false);
      int n = conn.createStatement().executeUpdate("DELETE FROM docs WHERE id LIKE 't%'");
      conn.rollback();
      return n + " " + stored("t%");
    });
    check("read only", () -> {
      conn.setReadOnly(true);
      try {
        return conn.createStatement().executeUpdate("DELETE FROM docs");
      } finally {
        conn.setReadOnly(false);
      }
    });
    check("serializable", () -> {
      conn.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
      conn.setAutoCommit(false);
      try (Connection other = connect()) {
        rows("SELECT * FROM docs WHERE id = 'a'");
        other.createStatement().executeUpdate("UPDATE docs SET doc = '{}' WHERE id = 'a'");
        conn.createStatement().executeUpdate("UPDATE docs SET doc = '{}' WHERE id = 'a'");
        conn.commit();
        return "committed";
      } finally {
        conn.rollback();
        conn.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
      }
    });
    check("copy", () -> conn.unwrap(PGConnection.class).getCopyAPI().copyIn(
        "COPY docs (id, doc) FROM STDIN (FORMAT csv)",
        new StringReader("c1,\"{\"\"c\"\": 1}\"\nc2,{}\n")) + " " + stored("c%"));
    check("upsert", () -> {
      PreparedStatement p = conn.prepareStatement(
          "INSERT INTO docs (id, doc) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc");
      for (String id : new String[] {"a", "u"}) {
        p.setString(1, id);
        p.setObject(2, json("{\"up\": 1}"));
        p.addBatch();
      }
      return Arrays.stream(p.executeBatch()).map(n -> n == Statement.SUCCESS_NO_INFO ? 1 : n).sum() + " " + stored("u");
    });
    conn.createStatement().executeUpdate("DELETE FROM docs");
  }

  public static void main(String[] args) throws Exception {
    for (String[] how : new String[][] {{"extended ", "prepareThreshold", "2"}, {"binary ", "prepareThreshold", "-1"},
        {"simple ", "preferQueryMode", "simple"}, {"rewritten ", "reWriteBatchedInserts", "true"}}) {
      prefix = how[0];
      conn = connect(how[1], how[2]);
      all();
      conn.close();
    }
  }
}
