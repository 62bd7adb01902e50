// A whole service without nginx: start, stop, and the state that it uses.
#include "service/service.h"

#include "service_fixture.h"

namespace agent_graph::service {
namespace {

class ServiceLife : public ServiceTest {};

TEST_F(ServiceLife, ServesTheAgentOfItsSettings) {
  const auto service = Start(Settings());
  Loop loop(*service);
  const Answer answer = loop.Invoke("t", "hello");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.outcome, "ok");
  EXPECT_EQ(answer.Json()["data"]["messages"].size(), 2u) << answer.body;
  EXPECT_EQ(service->lost_threads(), 0u);
  EXPECT_NE(service->state(), nullptr);
  EXPECT_EQ(service->shared_rate(), nullptr);
  Stop(*service);
}

TEST_F(ServiceLife, CanBeDestroyedBeforeItStarts) {
  const auto service = Create(Settings());
  ASSERT_TRUE(service.ok()) << service.status().ToString();
}

// The process is then left without destroying the service, as nginx's worker does.
TEST_F(ServiceLife, StopReportsARunThatDoesNotEnd) {
  const auto stop_too_early = [this] {
    const auto service = Start(Settings({{"agent", TestAgent("behaviours.so:sleeping")}}));
    Loop loop(*service);
    loop.Begin("POST", "/v1/graph/invoke",
               R"({"messages":[{"role":"user","content":"x"}],)"
               R"("config":{"thread_id":"t","sleep_ms":3600000}})");
    loop.AwaitRun();
    const Status stopped = service->Stop(DeadlineAfter(std::chrono::milliseconds(1)));
    _exit(stopped.code() == StatusCode::kDeadlineExceeded ? 7 : 1);
  };
  EXPECT_EXIT(stop_too_early(), testing::ExitedWithCode(7), "");
}

TEST_F(ServiceLife, StopsTwice) {
  const auto service = Start(Settings());
  Stop(*service);
  Stop(*service);
}

TEST_F(ServiceLife, TakesNoWorkAfterDrainAndFinishesWhatItHas) {
  const auto service = Start(Settings({{"agent", TestAgent("behaviours.so:streaming_slowly")}}));
  Loop loop(*service);
  const std::string gate = directory_ + "/gate";
  const json request = {{"messages", {{{"role", "user"}, {"content", gate}}}},
                        {"config", {{"thread_id", "t"}}}};
  ASSERT_TRUE(loop.Begin("POST", "/v1/graph/invoke", request.dump()));
  loop.AwaitRun();
  service->Drain();
  EXPECT_FALSE(loop.Begin("GET", "/ping"));
  Write("gate", "");  // the run goes on
  const Answer answer = loop.Await();
  EXPECT_EQ(answer.status, 200) << answer.outcome << answer.body;
  EXPECT_NE(answer.body.find("begun, ended"), std::string::npos) << answer.body;
  Stop(*service);
}

TEST_F(ServiceLife, StopWaitsForRunsThatTheLoopHasCancelled) {
  const auto service = Start(Settings({{"agent", TestAgent("behaviours.so:sleeping")}}));
  Loop loop(*service);
  ASSERT_TRUE(loop.Begin("POST", "/v1/graph/invoke",
                         R"({"messages":[{"role":"user","content":"x"}],)"
                         R"("config":{"thread_id":"t","sleep_ms":3600000}})"));
  loop.AwaitRun();
  loop.Cancel();
  Stop(*service);
  const Answer answer = loop.Await();
  EXPECT_NE(answer.outcome, "ok") << answer.body;
  // The run did not keep its thread.
  const auto next = Start(Settings());
  EXPECT_EQ(Loop(*next).Invoke("t", "hello").status, 200);
  Stop(*next);
}

class ServiceState : public ServiceTest {
 protected:
  static int MessagesOf(Loop& loop, const std::string& thread_id) {
    const Answer answer = loop.Ask("GET", "/v1/threads/" + thread_id + "/messages");
    if (answer.status != 200) return -answer.status;
    return static_cast<int>(answer.Json()["data"]["messages"].size());
  }
};

TEST_F(ServiceState, IsThereForTheNextService) {
  for (const int messages : {2, 4}) {
    const auto service = Start(Settings());
    Loop loop(*service);
    EXPECT_EQ(loop.Invoke("t", "hello").status, 200);
    EXPECT_EQ(MessagesOf(loop, "t"), messages);
    Stop(*service);
  }
}

TEST_F(ServiceState, InMemoryEndsWithItsProcess) {
  for (int round = 0; round < 2; ++round) {
    const auto service = Start(Settings({{"checkpointer", "memory"}}));
    Loop loop(*service);
    EXPECT_EQ(loop.Invoke("t", "hello").status, 200);
    EXPECT_EQ(MessagesOf(loop, "t"), 2);
    Stop(*service);
  }
}

TEST_F(ServiceState, IsNotNeededWithoutACheckpointer) {
  const auto service = Start(Settings({{"checkpointer", "none"}}));
  EXPECT_EQ(service->state(), nullptr);
  Loop loop(*service);
  EXPECT_EQ(loop.Invoke("t", "hello").status, 200);
  const Answer answer = loop.Ask("GET", "/v1/threads");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.Json()["error"]["code"], "NOT_CONFIGURED") << answer.body;
  Stop(*service);
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/state"));
}

// No state server runs, and this worker finds no database that it could serve in its place.
TEST_F(ServiceState, ThatCannotBeReachedMakesRequestsFail) {
  const auto service = Start(Settings(), /*state_in_process=*/false);
  Loop loop(*service);
  for (const auto& [method, path] : std::vector<std::pair<std::string, std::string>>{
           {"GET", "/v1/threads"}, {"GET", "/v1/threads/t/messages"}}) {
    const Answer answer = loop.Ask(method, path);
    EXPECT_EQ(answer.status, 503) << answer.body;
    EXPECT_EQ(answer.Json()["error"]["code"], "SERVICE_UNAVAILABLE") << answer.body;
    EXPECT_TRUE(answer.HasHeader("Retry-After"));
  }
  EXPECT_EQ(loop.Invoke("t", "hello").status, 503);
  EXPECT_FALSE(loop.lines.empty()) << "the operator must see why";
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/state/db"))
      << "a worker never creates a database";
  // Requests that need no state are served.
  EXPECT_EQ(loop.Ask("GET", "/v1/graph").status, 200);
  Stop(*service);
}

// The helper process has gone: after a few seconds the worker serves the existing database.
TEST_F(ServiceState, IsServedByTheWorkerIfNobodyElseDoes) {
  {
    const auto service = Start(Settings());
    EXPECT_EQ(Loop(*service).Invoke("t", "hello").status, 200);
    Stop(*service);
  }
  const auto service = Start(Settings(), /*state_in_process=*/false);
  Loop loop(*service);
  EXPECT_EQ(loop.Invoke("t", "again").status, 200);
  EXPECT_EQ(MessagesOf(loop, "t"), 4);
  Stop(*service);
}

// As nginx does: new workers and a new helper start while the old ones still work.
TEST_F(ServiceState, IsHandedOverWhenTheSettingsAreReloaded) {
  const settings::Settings before = Settings();
  auto old_server = StateServer::Start(before, directory_ + "/state", nullptr);
  ASSERT_NE(old_server, nullptr);
  const auto old_service = Start(before, /*state_in_process=*/false);
  Loop old_loop(*old_service);
  EXPECT_EQ(old_loop.Invoke("t", "hello").status, 200);

  const settings::Settings after = Settings({{"agent", TestAgent("behaviours.so:echo")}});
  auto new_server = StateServer::Start(after, directory_ + "/state", nullptr);
  ASSERT_NE(new_server, nullptr);
  const auto new_service = Start(after, /*state_in_process=*/false);
  Loop new_loop(*new_service);
  const Answer answer = new_loop.Invoke("t", "again");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.body.find("echo: again"), std::string::npos) << "it has the new graph";
  EXPECT_EQ(MessagesOf(old_loop, "t"), 4) << "the old service goes on with its state";
  const Answer old_answer = old_loop.Invoke("t", "once more");
  EXPECT_EQ(old_answer.status, 200) << old_answer.body;
  EXPECT_EQ(old_answer.body.find("echo: once more"), std::string::npos) << "it keeps the old graph";

  Stop(*old_service);
  old_server->Finish(DeadlineAfter(kPatience));
  EXPECT_EQ(MessagesOf(new_loop, "t"), 6);
  Stop(*new_service);
  new_server->Finish(DeadlineAfter(kPatience));
}

class StateServerTest : public ServiceTest {};

TEST_F(StateServerTest, IsNotStartedIfNothingIsKept) {
  const auto settings = Settings({{"checkpointer", "none"}});
  EXPECT_EQ(StateServer::Start(settings, directory_ + "/state", nullptr), nullptr);
}

TEST_F(StateServerTest, ReportsADirectoryThatItCannotUse) {
  const std::string file = Write("state", "a file");
  bridge::Outbox log;
  EXPECT_EQ(StateServer::Start(Settings(), file, &log), nullptr);
  std::vector<bridge::OutboxItem> items;
  log.Swap(items);
  ASSERT_EQ(items.size(), 1u);
  const auto& line = std::get<bridge::WriteLog>(items[0].payload);
  EXPECT_EQ(line.level, bridge::LogLevel::kCritical);
  EXPECT_NE(line.text.find(file), std::string::npos) << line.text;
  EXPECT_EQ(StateServer::Start(Settings(), file, nullptr), nullptr);
}

TEST_F(StateServerTest, EndsAtOnceIfNobodyUsesIt) {
  auto server = StateServer::Start(Settings(), directory_ + "/state", nullptr);
  ASSERT_NE(server, nullptr);
  server->Finish(kNoDeadline);
}

}  // namespace
}  // namespace agent_graph::service
