// Connection over a real PostgreSQL.
#include "state/postgres/database/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "../postgres_server.h"

namespace agent_graph::state::postgres {
namespace {

using testing::HasSubstr;
using testing::Not;

class ConnectionTest : public testing::Test {
 protected:
  ConnectionOptions Options() {
    ConnectionOptions options;
    options.url = url_;
    options.statement_timeout = options.answer_timeout = kPatience;
    options.backoff_min = options.backoff_max = std::chrono::milliseconds(1);
    return options;
  }
  void Run(const std::string& script) {
    const Status done = connection_.RunScript(script);
    ASSERT_TRUE(done.ok()) << done.ToString();
  }
  int64_t Count(const std::string& table) {
    Result<Rows> rows = connection_.Execute({"SELECT count(*) FROM " + table});
    EXPECT_TRUE(rows.ok()) << rows.status().ToString();
    return rows.ok() ? (*rows)[0].Bigint(0) : -1;
  }

  const std::string url_ = PostgresServer::Shared().CreateDatabase();
  Connection connection_{Options()};
};

TEST_F(ConnectionTest, ValuesOfEveryTypeComeBack) {
  const std::string text = "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80 \"'\\";
  const std::string bytes("\0\xff\x80'\\", 5);
  const std::string uuid = "00112233445566778899aabbccddeeff";
  Result<Rows> rows = connection_.Execute(
      {"SELECT $1, $2, $3, $4, $5, $6, $7",
       {Value::Bigint(-5'000'000'000), Value::Integer(-7), Value::Bool(true), Value::Text(text),
        Value::Bytes(bytes), Value::Uuid(uuid), Value::NullText()}});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  ASSERT_EQ(rows->size(), 1u);
  const Row row = (*rows)[0];
  EXPECT_EQ(row.Bigint(0), -5'000'000'000);
  EXPECT_EQ(row.Integer(1), -7);
  EXPECT_TRUE(row.Bool(2));
  EXPECT_EQ(row.Text(3), text);
  EXPECT_EQ(row.Bytes(4), bytes);
  EXPECT_EQ(row.Uuid(5), uuid);
  EXPECT_TRUE(row.IsNull(6));
  EXPECT_EQ(row.Text(6), "");
}

TEST_F(ConnectionTest, ArraysArePassedAsOneParameter) {
  const std::vector<int64_t> numbers = {3, -4};
  const std::vector<std::string> texts = {"a,b", "\""};
  const std::vector<std::string> blobs = {std::string("\0", 1), ""};
  Result<Rows> rows = connection_.Execute(
      {"SELECT n, t, b FROM unnest($1::bigint[], $2::text[], $3::bytea[]) AS x(n, t, b)",
       {Value::BigintArray(numbers), Value::TextArray(texts), Value::BytesArray(blobs)}});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[1].Bigint(0), -4);
  EXPECT_EQ((*rows)[0].Text(1), "a,b");
  EXPECT_EQ((*rows)[0].Bytes(2), blobs[0]);
  rows = connection_.Execute({"SELECT cardinality($1::bigint[])", {Value::BigintArray({})}});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_EQ((*rows)[0].Integer(0), 0);
}

TEST_F(ConnectionTest, TextThatCannotBeStoredIsRefusedWithoutHarm) {
  for (const std::string& text :
       {std::string("a\0b", 3), std::string("\xff"), std::string("\xc0\x80"),
        std::string("\xed\xa0\x80"), std::string("\xe2\x82"), std::string("\xf4\x90\x80\x80")}) {
    EXPECT_EQ(connection_.Execute({"SELECT $1", {Value::Text(text)}}).status().code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(connection_.Execute({"SELECT $1", {Value::Text("\xf4\x8f\xbf\xbf")}}).ok());
  EXPECT_EQ(connection_.sessions(), 1u);
}

TEST_F(ConnectionTest, CommandsOfOneExchangeAreOneTransaction) {
  Run("CREATE TABLE item (id bigint PRIMARY KEY)");
  const std::string insert = "INSERT INTO item VALUES ($1)";
  Result<std::vector<Rows>> rows = connection_.ExecuteAll(
      {{insert, {Value::Bigint(1)}}, {insert, {Value::Bigint(1)}}, {insert, {Value::Bigint(2)}}});
  EXPECT_EQ(rows.status().code(), StatusCode::kConflict);
  EXPECT_EQ(connection_.failure().kind, FailureKind::kConstraint);
  EXPECT_EQ(connection_.failure().sqlstate, "23505");
  EXPECT_THAT(rows.status().detail(), HasSubstr("23505"));
  EXPECT_EQ(Count("item"), 0);
  rows = connection_.ExecuteAll({{insert, {Value::Bigint(1)}}, {insert, {Value::Bigint(2)}}});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_EQ((*rows)[1].changed(), 1u);
  EXPECT_EQ(Count("item"), 2);
}

TEST_F(ConnectionTest, OneOfSeveralTransactionsMayFail) {
  Run("CREATE TABLE item (id bigint PRIMARY KEY)");
  const std::string insert = "INSERT INTO item VALUES ($1)";
  Result<std::vector<Result<Rows>>> answers = connection_.ExecuteEach(
      {{insert, {Value::Bigint(1)}}, {insert, {Value::Bigint(1)}}, {insert, {Value::Bigint(2)}}});
  ASSERT_TRUE(answers.ok()) << answers.status().ToString();
  EXPECT_TRUE((*answers)[0].ok());
  EXPECT_EQ((*answers)[1].status().code(), StatusCode::kConflict);
  EXPECT_TRUE((*answers)[2].ok());
  EXPECT_EQ(Count("item"), 2);
}

TEST_F(ConnectionTest, TransactionsSpanRoundTrips) {
  Run("CREATE TABLE item (id bigint PRIMARY KEY)");
  const Command insert{"INSERT INTO item VALUES (1)"};
  connection_.Begin();
  ASSERT_TRUE(connection_.Execute(insert).ok());
  connection_.Rollback();
  EXPECT_EQ(Count("item"), 0);

  connection_.Begin();
  ASSERT_TRUE(connection_.Execute({"SELECT 1"}).ok());
  Result<std::vector<Rows>> rows = connection_.Commit({insert});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_EQ(rows->size(), 1u);
  EXPECT_EQ(Count("item"), 1);

  connection_.Begin();
  EXPECT_FALSE(connection_.Execute(insert).ok());
  connection_.Rollback();
  EXPECT_EQ(Count("item"), 1);

  connection_.Begin();
  ASSERT_TRUE(connection_.Execute({"INSERT INTO item VALUES (2)"}).ok());
  EXPECT_EQ(connection_.Commit({insert}).status().code(), StatusCode::kConflict);
  EXPECT_FALSE(connection_.in_transaction());
  EXPECT_EQ(Count("item"), 1);
}

TEST_F(ConnectionTest, LargeExchangesDoNotBlockEachOther) {
  const std::string megabyte(1 << 20, 'x');
  const std::vector<Command> commands(30, Command{"SELECT $1", {Value::Text(megabyte)}});
  Result<std::vector<Rows>> rows = connection_.ExecuteAll(commands);
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_EQ((*rows)[29][0].Text(0).size(), megabyte.size());
}

TEST_F(ConnectionTest, AnOutdatedPlanIsPreparedAgain) {
  Run("CREATE TABLE item (id bigint PRIMARY KEY); INSERT INTO item VALUES (1)");
  ASSERT_TRUE(connection_.Execute({"SELECT * FROM item"}).ok());
  Run("ALTER TABLE item ADD COLUMN name text NOT NULL DEFAULT 'n'");
  Result<Rows> rows = connection_.Execute({"SELECT * FROM item"});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_EQ((*rows)[0].Text(1), "n");
  Run("DEALLOCATE ALL");
  EXPECT_TRUE(connection_.Execute({"SELECT * FROM item"}).ok());
}

TEST_F(ConnectionTest, DeadlocksAreRetried) {
  Run("CREATE TABLE item (id bigint PRIMARY KEY, n bigint); INSERT INTO item VALUES (1, 0), (2, "
      "0)");
  ConnectionOptions options = Options();
  options.lock_timeout = std::chrono::seconds(30);
  Connection first(options);
  Connection second(options);
  const auto add = [](int id) {
    return Command{"UPDATE item SET n = n + 1 WHERE id = $1", {Value::Bigint(id)}};
  };
  first.Begin();
  ASSERT_TRUE(first.Execute(add(1)).ok());
  Status status;
  std::thread other([&] { status = second.ExecuteAll({add(2), add(1)}).status(); });
  // Wait until the other one holds row 2 and waits for row 1.
  for (int64_t waiting = 0; waiting == 0;) {
    Result<Rows> rows = connection_.Execute({"SELECT count(*) FROM pg_locks WHERE NOT granted"});
    ASSERT_TRUE(rows.ok());
    waiting = (*rows)[0].Bigint(0);
  }
  const Status crossed = first.Execute(add(2)).status();
  const Failure failure = first.failure();
  first.Rollback();
  other.join();
  // The server chooses the victim.
  EXPECT_TRUE(status.ok()) << status.ToString();
  if (!crossed.ok()) {
    EXPECT_EQ(failure.kind, FailureKind::kRetry);
  }
}

TEST_F(ConnectionTest, WaitsForLocksAndStatementsEnd) {
  Run("CREATE TABLE item (id bigint PRIMARY KEY); INSERT INTO item VALUES (1)");
  ConnectionOptions options = Options();
  options.lock_timeout = std::chrono::milliseconds(20);
  Connection impatient(options);
  connection_.Begin();
  ASSERT_TRUE(connection_.Execute({"SELECT * FROM item FOR UPDATE"}).ok());
  EXPECT_EQ(impatient.Execute({"DELETE FROM item"}).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(impatient.failure().sqlstate, "55P03");
  EXPECT_EQ(impatient.failure().kind, FailureKind::kTimeout);
  EXPECT_EQ(impatient.sessions(), 1u);
  connection_.Rollback();
  options.statement_timeout = std::chrono::milliseconds(20);
  Connection brief(options);
  EXPECT_FALSE(brief.Execute({"SELECT pg_sleep(60)"}).ok());
  EXPECT_EQ(brief.failure().sqlstate, "57014");
  EXPECT_EQ(brief.failure().kind, FailureKind::kTimeout);
  EXPECT_EQ(brief.sessions(), 1u);
}

TEST_F(ConnectionTest, SessionsThatTheServerEndedAreReplaced) {
  Connection other(Options());
  for (int i = 0; i < 20; ++i) {
    Result<Rows> self = connection_.Execute({"SELECT pg_backend_pid()"});
    ASSERT_TRUE(self.ok()) << self.status().ToString();
    // Returns when the process has ended.
    Result<Rows> ended = other.Execute(
        {"SELECT pg_terminate_backend($1, 5000)", {Value::Integer((*self)[0].Integer(0))}});
    ASSERT_TRUE(ended.ok()) << ended.status().ToString();
    ASSERT_TRUE((*ended)[0].Bool(0));
  }
  EXPECT_EQ(connection_.sessions(), 20u);
}

TEST_F(ConnectionTest, ASessionThatEndsDuringAStatementIsReportedAsLost) {
  Result<Rows> rows = connection_.Execute({"SELECT pg_terminate_backend(pg_backend_pid())"});
  EXPECT_EQ(rows.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(connection_.failure().kind, FailureKind::kLost);
  EXPECT_FALSE(connection_.is_open());
  EXPECT_TRUE(connection_.Execute({"SELECT 1"}).ok());
}

TEST_F(ConnectionTest, ATransactionDoesNotContinueInAnotherSession) {
  connection_.Begin();
  EXPECT_FALSE(connection_.Execute({"SELECT pg_terminate_backend(pg_backend_pid())"}).ok());
  EXPECT_TRUE(connection_.in_transaction());
  connection_.Rollback();
  EXPECT_FALSE(connection_.in_transaction());
  EXPECT_TRUE(connection_.Execute({"SELECT 1"}).ok());
}

TEST_F(ConnectionTest, InterruptEndsTheCallInProgress) {
  Status status;
  std::thread thread([&] { status = connection_.Execute({"SELECT pg_sleep(60)"}).status(); });
  Connection other(Options());
  for (int64_t active = 0; active == 0;) {
    Result<Rows> rows = other.Execute(
        {"SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = "
         "'active'"});
    ASSERT_TRUE(rows.ok());
    active = (*rows)[0].Bigint(0);
  }
  connection_.Interrupt();
  thread.join();
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(connection_.Execute({"SELECT 1"}).status().code(), StatusCode::kCancelled);
}

TEST_F(ConnectionTest, SettingsOfTheSessionAreInForce) {
  ConnectionOptions options = Options();
  options.statement_timeout = std::chrono::milliseconds(1234);
  Connection connection(options);
  Result<Rows> rows = connection.Execute(
      {"SELECT current_setting('synchronous_commit'), current_setting('statement_timeout'), "
       "current_setting('lock_timeout'), current_setting('application_name')"});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_EQ((*rows)[0].Text(0), "on");
  EXPECT_EQ((*rows)[0].Text(1), "1234ms");
  EXPECT_EQ((*rows)[0].Text(2), "2s");
  EXPECT_EQ((*rows)[0].Text(3), "agent-graph");
}

// Behind a pooler, another session may get the server process.
TEST_F(ConnectionTest, OnlyTransactionsAreNotWaitedFor) {
  ConnectionOptions options = Options();
  options.waits_for_disk = false;
  Connection connection(options);
  const Command setting = {"SELECT current_setting('synchronous_commit')"};
  const auto expect_off = [](const Result<std::vector<Rows>>& rows) {
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    ASSERT_EQ(rows->size(), 1u);
    EXPECT_EQ((*rows)[0][0].Text(0), "off");
  };
  expect_off(connection.ExecuteAll({setting}));
  connection.Begin();
  expect_off(connection.ExecuteAll({setting}));
  expect_off(connection.Commit({setting}));
  connection.Begin();
  expect_off(connection.Commit({setting}));
  const auto between = connection.ExecuteEach({setting});
  ASSERT_TRUE(between.ok() && (*between)[0].ok());
  EXPECT_EQ((*(*between)[0])[0].Text(0), "on");
}

TEST_F(ConnectionTest, AReadOnlyServerIsLeft) {
  Run("CREATE TABLE item (id bigint PRIMARY KEY)");
  Run("SET default_transaction_read_only = on");
  EXPECT_EQ(connection_.Execute({"INSERT INTO item VALUES (1)"}).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(connection_.failure().kind, FailureKind::kReadOnly);
  EXPECT_TRUE(connection_.Execute({"INSERT INTO item VALUES (1)"}).ok());
  EXPECT_EQ(connection_.sessions(), 2u);
}

TEST_F(ConnectionTest, OtherEncodingsAreRefused) {
  PostgresServer::Shared().Execute(
      "postgres", "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  ConnectionOptions options = Options();
  options.url = PostgresServer::Shared().Url("latin");
  Connection connection(options);
  const Status opened = connection.Open();
  EXPECT_EQ(opened.code(), StatusCode::kUnavailable);
  EXPECT_THAT(opened.detail(), HasSubstr("LATIN1"));
}

TEST_F(ConnectionTest, MissingTablesAndRightsAreNamed) {
  EXPECT_FALSE(connection_.Execute({"SELECT * FROM nothing"}).ok());
  EXPECT_EQ(connection_.failure().kind, FailureKind::kNoSchema);
  Run("CREATE ROLE poor LOGIN; CREATE TABLE item (id bigint)");
  ConnectionOptions options = Options();
  options.url.replace(options.url.find("postgres@"), 9, "poor@");
  Connection poor(options);
  const Status denied = poor.Execute({"SELECT * FROM item"}).status();
  EXPECT_EQ(denied.code(), StatusCode::kUnavailable);
  EXPECT_EQ(poor.failure().kind, FailureKind::kDenied);
  EXPECT_THAT(denied.detail(), HasSubstr("item"));
}

TEST(ConnectionOutage, TheServerIsKilledAndComesBack) {
  PostgresServer server;
  ConnectionOptions options;
  options.url = server.CreateDatabase();
  options.backoff_min = options.backoff_max = std::chrono::milliseconds(1);
  Connection connection(options);
  ASSERT_TRUE(connection.RunScript("CREATE TABLE item (id bigint PRIMARY KEY)").ok());
  for (int i = 0; i < 3; ++i) {
    server.Kill();
    const Status refused = connection.Execute({"SELECT 1"}).status();
    EXPECT_EQ(refused.code(), StatusCode::kUnavailable) << refused.ToString();
    EXPECT_FALSE(refused.message().find("not reachable") == std::string::npos)
        << refused.ToString();
    server.Start();
    const Status opened = connection.OpenUntil(DeadlineAfter(std::chrono::minutes(1)));
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    EXPECT_TRUE(connection.Execute({"SELECT count(*) FROM item"}).ok());
  }
  EXPECT_EQ(connection.sessions(), 4u);
}

TEST(ConnectionOutage, AServerThatDoesNotAnswerIsGivenUp) {
  PostgresServer server;
  ConnectionOptions options;
  options.url = server.CreateDatabase();
  options.answer_timeout = std::chrono::milliseconds(100);
  Connection connection(options);
  ASSERT_TRUE(connection.OpenUntil(DeadlineAfter(kPatience)).ok());
  server.Freeze();
  const Status status = connection.Execute({"SELECT 1"}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.detail(), HasSubstr("100 ms"));
  EXPECT_FALSE(connection.is_open());
}

TEST(ConnectionUrlTest, MessagesHaveNoPassword) {
  for (const std::string url :
       {"postgresql://u:geh%zzeim@h/db", "postgresql://u:geheim@x@h/db",
        "postgresql://u:geheim@h:port/db?x=1", "postgresql://u:gehe?im@h/db",
        "mysql://u:geheim@h/db", "u:geheim@h", "postgresql://u:geheim@[h/db",
        "postgresql://u:geheim@h/db?unknown=geheim"}) {
    const Status parsed = ParseConnectionUrl(url).status();
    if (parsed.ok()) continue;
    EXPECT_EQ(parsed.code(), StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(parsed.ToString(), Not(HasSubstr("geh"))) << url;
    EXPECT_THAT(parsed.ToString(), Not(HasSubstr("im"))) << url;
  }
  Result<ConnectionUrl> url = ParseConnectionUrl("postgresql://u:geheim@h:5/db");
  ASSERT_TRUE(url.ok()) << url.status().ToString();
  EXPECT_EQ(url->Redact("no geheim, geheim"), "no ***, ***");
}

TEST(ConnectionUrlTest, ARefusedUserIsReportedWithoutThePassword) {
  ConnectionOptions options;
  options.url = PostgresServer::Shared().CreateDatabase();
  options.url.replace(options.url.find("postgres@"), 9, "missing:geheim@");
  Connection connection(options);
  const Status opened = connection.Open();
  EXPECT_EQ(opened.code(), StatusCode::kUnavailable);
  EXPECT_THAT(opened.ToString(), HasSubstr("missing"));
  EXPECT_THAT(opened.ToString(), Not(HasSubstr("geheim")));
}

}  // namespace
}  // namespace agent_graph::state::postgres
