// pgjdbc. A check prints its name and what it found, as the other clients' scripts do.

import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.TimeZone;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.util.PGobject;
import org.postgresql.util.PSQLException;

public class JdbcClient {
  interface Check {
    Object find() throws Exception;
  }

  static String prefix;
  static String sslmode = System.getenv("PGSSLMODE");
  static Connection conn;

  static void check(String name, Check c) {
    Object found;
    try {
      found = c.find();
    } catch (SQLException e) {
      found = "error " + e.getSQLState();
    } catch (Exception e) {
      found = "error " + e;
    }
    String text = String.valueOf(found).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t");
    System.out.println(prefix + name + "\t" + text);
  }

  static Connection connect(String... more) throws SQLException {
    Properties p = new Properties();
    p.setProperty("user", System.getenv("PGUSER"));
    if (System.getenv("PGPASSWORD") != null) p.setProperty("password", System.getenv("PGPASSWORD"));
    p.setProperty("sslmode", sslmode);
    if (System.getenv("PGSSLROOTCERT") != null) p.setProperty("sslrootcert", System.getenv("PGSSLROOTCERT"));
    for (int i = 0; i < more.length; i += 2) p.setProperty(more[i], more[i + 1]);
    return DriverManager.getConnection("jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT")
        + "/" + System.getenv("PGDATABASE"), p);
  }

  static PGobject jsonb(String text) throws SQLException {
    PGobject o = new PGobject();
    o.setType("jsonb");
    o.setValue(text);
    return o;
  }

  static Object plain(Object v) throws SQLException {
    if (v instanceof Array) return Arrays.toString((Object[]) ((Array) v).getArray());
    if (v instanceof byte[]) return Arrays.toString((byte[]) v);
    return v;
  }

  static List<List<Object>> rows(ResultSet rs, String... names) throws SQLException {
    List<List<Object>> out = new ArrayList<>();
    int n = names.length > 0 ? names.length : rs.getMetaData().getColumnCount();
    while (rs.next()) {
      List<Object> row = new ArrayList<>();
      for (int i = 0; i < n; i++) row.add(plain(names.length > 0 ? rs.getObject(names[i]) : rs.getObject(i + 1)));
      out.add(row);
    }
    rs.close();
    return out;
  }

  static List<List<Object>> query(String sql, Object... args) throws SQLException {
    try (PreparedStatement s = conn.prepareStatement(sql)) {
      for (int i = 0; i < args.length; i++) s.setObject(i + 1, args[i]);
      return rows(s.executeQuery());
    }
  }

  static Object parameters() throws SQLException {
    List<Object> out = new ArrayList<>();
    for (Object v : new Object[] {1, 1L << 40, (short) 3, 1.5, 1.25f, new BigDecimal("12.340"), "it's \\ é", true,
        LocalDate.of(2024, 2, 29), LocalDateTime.of(2024, 1, 2, 3, 4, 5, 678000),
        OffsetDateTime.of(2024, 1, 2, 3, 4, 5, 0, ZoneOffset.UTC), new UUID(0, 7), new byte[] {0, -1},
        jsonb("{\"a\":[1,null]}"), conn.createArrayOf("int4", new Object[] {1, null}),
        conn.createArrayOf("text", new Object[] {"a", "b,c"})}) {
      try (PreparedStatement s = conn.prepareStatement("SELECT ? AS v")) {
        s.setObject(1, v);
        ResultSet rs = s.executeQuery();
        out.add(rs.getMetaData().getColumnTypeName(1));
        String text = rows(rs).toString();
        out.add(v instanceof PGobject ? text.replace(" ", "") : text);
      } catch (SQLException e) {
        out.add(v.getClass() + " " + e.getSQLState());
      }
    }
    return out;
  }

  static Object filters() throws SQLException {
    List<Object> out = new ArrayList<>();
    out.add(query("SELECT count(*) FROM docs WHERE doc->>'country' = ?", "NO"));
    out.add(query("SELECT count(*) FROM docs WHERE doc @> ?", jsonb("{\"country\":\"NO\"}")));
    out.add(query("SELECT count(*) FROM docs WHERE doc->'n' > ?", jsonb("3420")));
    out.add(query("SELECT count(*) FROM docs WHERE (doc->>'n')::float8 > ?", 3420));
    out.add(query("SELECT count(*) FROM docs WHERE doc ?? ?", "tags"));
    out.add(query("SELECT id FROM docs WHERE id = ANY(?) ORDER BY id",
        conn.createArrayOf("text", new Object[] {"no:2294", "fr:1077"})));
    out.add(query("SELECT count(*), min(id) FROM \"by\".country WHERE key = ?", jsonb("\"NO\"")));
    out.add(query("SELECT id, doc->>'name', doc->'n' FROM docs WHERE id = ?", "fr:1077"));
    return out;
  }

  static Object metadata() throws SQLException {
    List<Object> out = new ArrayList<>();
    DatabaseMetaData m = conn.getMetaData();
    out.add(m.getDatabaseProductName() + m.getDatabaseMajorVersion() + conn.getCatalog() + conn.getSchema());
    out.add(rows(m.getTables(null, "public", "docs", null), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE"));
    out.add(rows(m.getColumns(null, null, "docs", null), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "IS_NULLABLE"));
    out.add(rows(m.getColumns(null, "by", "country", null), "COLUMN_NAME", "TYPE_NAME", "ORDINAL_POSITION"));
    out.add(rows(m.getPrimaryKeys(null, "public", "docs"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"));
    out.add(rows(m.getImportedKeys(null, "public", "docs")));
    out.add(rows(m.getIndexInfo(null, "public", "docs", true, true), "INDEX_NAME", "COLUMN_NAME", "NON_UNIQUE"));
    out.add(rows(m.getBestRowIdentifier(null, "public", "docs", 0, true), "COLUMN_NAME"));
    out.add(rows(m.getTableTypes()));
    return out;
  }

  static Object described() throws SQLException {
    List<Object> out = new ArrayList<>();
    try (PreparedStatement s = conn.prepareStatement("SELECT id, doc, 1 AS a, now() AS d FROM docs WHERE id = ?")) {
      ResultSetMetaData m = s.getMetaData();
      for (int i = 1; i <= m.getColumnCount(); i++) {
        out.add(m.getColumnLabel(i) + " " + m.getColumnTypeName(i) + " " + m.getColumnClassName(i) + " "
            + m.isNullable(i));
      }
      out.add(s.getParameterMetaData().getParameterTypeName(1));
    }
    return out;
  }

  static Object fetched() throws SQLException {
    conn.setAutoCommit(false);
    try (Statement s = conn.createStatement()) {
      s.setFetchSize(50);
      int n = 0;
      ResultSet rs = s.executeQuery("SELECT id FROM docs ORDER BY id");
      for (; rs.next(); n++) {}
      s.setFetchSize(0);
      s.setMaxRows(3);
      List<List<Object>> some = rows(s.executeQuery("SELECT id FROM docs ORDER BY id"));
      return n + " " + some.size() + " " + some.get(2);
    } finally {
      conn.commit();
      conn.setAutoCommit(true);
    }
  }

  static Object scrolled() throws SQLException {
    List<Object> out = new ArrayList<>();
    conn.setAutoCommit(false);
    try (Statement s = conn.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
      s.setFetchSize(7);
      ResultSet rs = s.executeQuery("SELECT id FROM docs ORDER BY id LIMIT 30");
      rs.last();
      out.add(rs.getRow() + " " + rs.getString(1));
      rs.absolute(-3);
      out.add(rs.getString(1));
      rs.previous();
      out.add(rs.getString(1));
      rs.first();
      out.add(rs.getString(1) + " " + rs.isFirst());
      s.execute("DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT id FROM docs ORDER BY id LIMIT 30");
      conn.commit();
      out.add(rows(s.executeQuery("FETCH LAST FROM c")));
      out.add(rows(s.executeQuery("FETCH BACKWARD 3 FROM c")));
      out.add(s.executeUpdate("MOVE FIRST FROM c"));
      s.execute("CLOSE c");
    } finally {
      conn.commit();
      conn.setAutoCommit(true);
    }
    return out;
  }

  static Object transactions() throws SQLException {
    List<Object> out = new ArrayList<>();
    conn.setAutoCommit(false);
    conn.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
    conn.setReadOnly(true);
    try (Statement s = conn.createStatement()) {
      out.add(rows(s.executeQuery("SHOW transaction_isolation")));
      Savepoint p = conn.setSavepoint("p");
      try {
        s.executeQuery("SELECT nope FROM docs");
      } catch (PSQLException e) {
        out.add(e.getSQLState() + " " + e.getServerErrorMessage().getMessage() + " "
            + e.getServerErrorMessage().getPosition());
      }
      conn.rollback(p);
      conn.releaseSavepoint(p);
      out.add(rows(s.executeQuery("SELECT count(*) FROM docs")));
    } finally {
      conn.rollback();
      conn.setReadOnly(false);
      conn.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
      conn.setAutoCommit(true);
    }
    return out;
  }

  static Object copied() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    long n = conn.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY (SELECT id, doc->>'name', NULL FROM docs "
        + "ORDER BY id LIMIT 3) TO STDOUT (FORMAT csv, HEADER)", out);
    return n + out.toString(StandardCharsets.UTF_8);
  }

  static Object batches() throws SQLException {
    List<Object> out = new ArrayList<>();
    try (PreparedStatement s = conn.prepareStatement("SELECT count(*) FROM docs WHERE id < ?")) {
      for (int i = 0; i < 7; i++) { // prepared on the server from the fifth on
        s.setString(1, "n" + i);
        out.add(rows(s.executeQuery()));
      }
    }
    try (Statement s = conn.createStatement()) {
      s.execute("SELECT 1; SELECT 'two'");
      out.add(rows(s.getResultSet()));
      out.add(s.getMoreResults() ? rows(s.getResultSet()) : "one result");
      s.addBatch("SET application_name = 'a'");
      s.addBatch("SET application_name = 'b'");
      out.add(Arrays.toString(s.executeBatch()));
    }
    out.add(query("SHOW application_name"));
    return out;
  }

  static Object notified() throws SQLException {
    try (Statement s = conn.createStatement()) {
      s.execute("LISTEN mine; NOTIFY mine, 'here'");
      List<Object> out = new ArrayList<>();
      for (PGNotification n : conn.unwrap(PGConnection.class).getNotifications(60000)) {
        out.add(n.getName() + " " + n.getParameter());
      }
      s.execute("UNLISTEN *; COMMIT");
      out.add(s.getWarnings().getMessage());
      return out;
    }
  }

  static Object called() throws SQLException {
    List<Object> out = new ArrayList<>();
    try (CallableStatement s = conn.prepareCall("{? = call upper(?)}")) {
      s.registerOutParameter(1, Types.VARCHAR);
      s.setString(2, "abc");
      s.execute();
      out.add(s.getString(1));
    }
    out.add(query("SELECT {fn ucase('a')}, {fn locate('b', 'abc')}, {fn timestampadd(SQL_TSI_DAY, 1, {d '2024-02-28'})}, "
        + "{fn year({ts '2024-01-02 03:04:05'})}, 'x%' LIKE 'x|%' {escape '|'}"));
    return out;
  }

  static Object cancelled() throws Exception {
    try (Statement s = conn.createStatement()) {
      int pid = conn.unwrap(PGConnection.class).getBackendPID();
      CompletableFuture<String> ended = CompletableFuture.supplyAsync(() -> {
        try {
          s.execute("SELECT pg_sleep(600)");
          return "slept";
        } catch (SQLException e) {
          return e.getSQLState();
        }
      });
      // A cancel that comes before the statement does nothing.
      try (Connection other = connect(); PreparedStatement active = other.prepareStatement(
          "SELECT count(*) FROM pg_stat_activity WHERE pid = ? AND state = 'active' AND query LIKE '%pg_sleep%'")) {
        active.setInt(1, pid);
        while (rows(active.executeQuery()).toString().equals("[[0]]")) Thread.onSpinWait();
      }
      s.cancel();
      return ended.get();
    }
  }

  static void all(String name, String... options) throws SQLException {
    prefix = name;
    conn = connect(options);
    check("parameters", JdbcClient::parameters);
    check("filters", JdbcClient::filters);
    check("metadata", JdbcClient::metadata);
    check("described", JdbcClient::described);
    check("fetched", JdbcClient::fetched);
    check("scrolled", JdbcClient::scrolled);
    check("transactions", JdbcClient::transactions);
    check("copied", JdbcClient::copied);
    check("batches", JdbcClient::batches);
    check("notified", JdbcClient::notified);
    check("called", JdbcClient::called);
    check("cancelled", JdbcClient::cancelled);
    check("refused", () -> query("SELECT 1/?", 0));
    conn.close();
  }

  public static void main(String[] args) throws Exception {
    TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
    all("");
    if (!sslmode.equals("disable")) sslmode = "require";
    all("binary ", "prepareThreshold", "-1");
    sslmode = "disable";
    all("simple ", "preferQueryMode", "simple");
  }
}
