// Clients whose replies an engine thread receives.
#include <dlfcn.h>
#include <sys/epoll.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "../fixture.h"
#include "runtime/runtime.h"

namespace {

thread_local bool refuses_next_descriptor = false;

}  // namespace

// Replaces the function of the C library: it can refuse a descriptor, as the system does when the
// user has as many as fs.epoll.max_user_watches allows.
extern "C" int epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event) noexcept {
  if (operation == EPOLL_CTL_ADD && std::exchange(refuses_next_descriptor, false)) {
    errno = ENOSPC;
    return -1;
  }
  static const auto next = reinterpret_cast<decltype(&epoll_ctl)>(dlsym(RTLD_NEXT, "epoll_ctl"));
  return next(epoll, operation, descriptor, event);
}

namespace agent_graph::state {
namespace {

using runtime::Promise;
using runtime::Runtime;

class ClientOnAFiber : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(runtime_->Start().ok());
    client_ = StartClient(directory_.path());
    RunTurn(*client_, "t", "", {UserMessage("m1")});
  }
  void TearDown() override {
    client_.reset();
    if (runtime_) {
      EXPECT_TRUE(runtime_->Stop(DeadlineAfter(kPatience)).ok());
    }
  }

  bool Answers() { return client_->GetThread(Scope::All(), "t").ok(); }
  // Runs `body` on a fiber and returns its result.
  bool OnAFiber(std::function<bool()> body) {
    const Promise<bool> result;
    runtime_->Spawn([=] { result.Set(body()); });
    const Result<bool> ended = result.Wait(nullptr, DeadlineAfter(kPatience));
    return ended.ok() && *ended;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<StateServer> server_ = StartServer(directory_.path());
  std::optional<Runtime> runtime_{std::in_place, runtime::RuntimeOptions{.threads = 1}};
  std::unique_ptr<Client> client_;
};

TEST_F(ClientOnAFiber, GetsItsAnswers) {
  EXPECT_TRUE(OnAFiber([this] {
    for (int i = 0; i < 1000; ++i) {
      if (!Answers()) return false;
    }
    return true;
  }));
}

// The link's thread receives what the engine thread leaves.
TEST_F(ClientOnAFiber, DoesNotKeepOtherThreadsFromTheirAnswers) {
  std::atomic<bool> answered{false};
  const Promise<bool> busy;
  const Promise<bool> ended;
  runtime_->Spawn([&] {
    const bool before = Answers();
    busy.Set(before);
    while (!answered) std::this_thread::yield();  // occupies the engine thread
    ended.Set(Answers());
  });
  const Result<bool> is_busy = busy.Wait(nullptr, DeadlineAfter(kPatience));
  EXPECT_TRUE(is_busy.ok() && *is_busy);
  EXPECT_TRUE(Answers());
  answered = true;
  const Result<bool> after = ended.Wait(nullptr, DeadlineAfter(kPatience));
  EXPECT_TRUE(after.ok() && *after);
}

TEST_F(ClientOnAFiber, ContinuesOnTheNextConnection) {
  EXPECT_TRUE(OnAFiber([this] {
    for (int i = 0; i < 100; ++i) {
      if (!Answers()) return false;
      client_->DropConnection();
      if (!Answers()) return false;
    }
    return true;
  }));
  EXPECT_TRUE(Answers());
}

TEST_F(ClientOnAFiber, OutlivesTheEngineThread) {
  EXPECT_TRUE(OnAFiber([this] { return Answers(); }));
  EXPECT_TRUE(runtime_->Stop(DeadlineAfter(kPatience)).ok());
  runtime_.reset();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Answers());
  client_->DropConnection();
  EXPECT_TRUE(Answers());
}

TEST_F(ClientOnAFiber, EndsWhileItsEngineThreadLives) {
  EXPECT_TRUE(OnAFiber([this] { return Answers(); }));
  client_.reset();
  client_ = StartClient(directory_.path());
  EXPECT_TRUE(OnAFiber([this] { return Answers(); }));
}

// The link's thread then receives everything.
TEST_F(ClientOnAFiber, ServesAnEngineThreadThatCanWatchNoFurtherDescriptor) {
  EXPECT_TRUE(OnAFiber([this] {
    refuses_next_descriptor = true;
    const bool first = Answers();
    const bool was_refused = !refuses_next_descriptor;
    return first && was_refused && Answers() && Answers();
  }));
}

TEST_F(ClientOnAFiber, ConnectsAgainAfterAnExceptionWhileItReceives) {
  const Promise<bool> thrown;
  std::atomic<bool> throws{true};
  StateOptions options;
  options.directory = directory_.path();
  options.operation_timeout = kPatience;
  options.on_thread_deleted = [&](const std::string&) {
    if (!throws.exchange(false)) return;
    thrown.Set(true);
    throw std::runtime_error("no memory");
  };
  Client second(options);
  ASSERT_TRUE(second.Start().ok());
  const auto answers = [&] { return second.GetThread(Scope::All(), "t").ok(); };
  EXPECT_TRUE(OnAFiber(answers));
  RunTurn(*client_, "deleted", "", {UserMessage("m1")});
  EXPECT_TRUE(client_->DeleteThread(Scope::All(), "deleted").ok());
  EXPECT_TRUE(thrown.Wait(nullptr, DeadlineAfter(kPatience)).ok());
  EXPECT_TRUE(OnAFiber([&] { return answers() && answers(); }));
}

TEST(ClientOnFibers, ServesSeveralEngineThreads) {
  TemporaryDirectory directory;
  const auto server = StartServer(directory.path());
  Runtime runtime({.threads = 4});
  ASSERT_TRUE(runtime.Start().ok());
  auto client = StartClient(directory.path());
  RunTurn(*client, "t", "", {UserMessage("m1")});
  std::vector<Promise<bool>> ended(8);
  for (const Promise<bool>& promise : ended) {
    runtime.Spawn([&client, promise] {
      bool all = true;
      for (int i = 0; i < 100; ++i) all = client->GetThread(Scope::All(), "t").ok() && all;
      promise.Set(all);
    });
  }
  for (const Promise<bool>& promise : ended) {
    const Result<bool> all = promise.Wait(nullptr, DeadlineAfter(kPatience));
    EXPECT_TRUE(all.ok() && *all);
  }
  client.reset();
  EXPECT_TRUE(runtime.Stop(DeadlineAfter(kPatience)).ok());
}

}  // namespace
}  // namespace agent_graph::state
