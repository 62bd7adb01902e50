// Clients while no state server answers, or one that hangs.
#include <sys/socket.h>

#include <stdexcept>
#include <thread>

#include "../conformance/mailbox.h"
#include "../fixture.h"
#include "child_process.h"
#include "state/directory/state_directory.h"
#include "state/gateway/client/link.h"
#include "state/gateway/wire/protocol.h"
#include "state/requests.h"

namespace agent_graph::state {
namespace {

TEST(Client, FailsWithoutAnOwnerAndAsksForOne) {
  TemporaryDirectory directory;
  std::unique_ptr<StateServer> stand_in;
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(10);
  options.server_wait = std::chrono::milliseconds(0);
  runtime::Promise<bool> asked;
  options.on_server_missing = [&] { asked.Set(true); };
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  EXPECT_EQ(client.GetThread(Scope::All(), "t").status().code(), StatusCode::kUnavailable);
  ASSERT_TRUE(asked.Wait(nullptr, DeadlineAfter(kPatience)).ok());
}

TEST(Client, FailsInTimeAgainstAnOwnerThatHangs) {
  TemporaryDirectory directory;
  ChildProcess server("Child.DISABLED_Serves", directory.path());
  auto patient = StartClient(directory.path());
  RunTurn(*patient, "t", "", {UserMessage("m1")});
  server.Freeze();
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(100);
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  BeginRunRequest run = RunOn("t");
  run.wait_ms_max = 3'600'000;  // counts only after the server has queued it
  EXPECT_EQ(client.BeginRun(run, nullptr).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(client.GetThread(Scope::All(), "t").status().code(), StatusCode::kUnavailable);
}

// If each client waited separately, the test would exceed its time limit.
TEST(Client, WaitsOnceForAnOwnerThatHangs) {
  TemporaryDirectory directory;
  ChildProcess server("Child.DISABLED_Serves", directory.path());
  auto patient = StartClient(directory.path());
  RunTurn(*patient, "t", "", {UserMessage("m1")});
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(3000);
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  while (!client.GetThread(Scope::All(), "t").ok()) std::this_thread::yield();
  server.Freeze();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(client.GetThread(Scope::All(), "t").status().code(), StatusCode::kUnavailable);
  }
  server.Thaw();
  while (!client.GetThread(Scope::All(), "t").ok()) std::this_thread::yield();
}

TEST(Client, QueuedRunMayWaitLongerThanOtherOperations) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto holder = StartClient(directory.path());
  ASSERT_TRUE(holder->BeginRun(RunOn("t"), nullptr).ok());
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(1000);
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  // The reply comes from the server, after the time limit of other operations. If a loaded machine
  // delays the server, the client tries again.
  StatusCode code = StatusCode::kUnavailable;
  while (code == StatusCode::kUnavailable) {
    BeginRunRequest run = RunOn("t");
    run.wait_ms_max = 1300;
    code = client.BeginRun(run, nullptr).status().code();
  }
  EXPECT_EQ(code, StatusCode::kBusy);
}

TEST(Client, RunThatNobodyWaitsForIsReleased) {
  TemporaryDirectory directory;
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(10);
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  BeginRunRequest run = RunOn("t");
  run.wait_ms_max = 0;
  EXPECT_EQ(client.BeginRun(run, nullptr).status().code(), StatusCode::kUnavailable);
  auto server = StartServer(directory.path());
  auto other = StartClient(directory.path());
  EXPECT_TRUE(other->BeginRun(RunOn("t"), nullptr).ok());
}

// A server that only this test drives: it does not answer before the test wants it to.
class SlowServer {
 public:
  explicit SlowServer(const std::string& path)
      : listener_(StateDirectory::Create(path).value().Listen(1).value()) {}

  void Accept() {
    while (!connection_) connection_ = FileDescriptor(accept(listener_.get(), nullptr, nullptr));
  }
  void Send(const std::string& frame) const {
    ASSERT_EQ(send(connection_.get(), frame.data(), frame.size(), 0),
              static_cast<ssize_t>(frame.size()));
  }
  wire::FrameType Receive() {
    std::string payload;
    while (!frames_.Next(payload)) {
      char bytes[4096];
      const ssize_t got = recv(connection_.get(), bytes, sizeof bytes, 0);
      if (got <= 0) throw std::runtime_error("the client has closed its connection");
      frames_.Add({bytes, static_cast<size_t>(got)});
    }
    pack::Unpacker unpacker(payload);
    return wire::ReadFrameType(unpacker);
  }

 private:
  FileDescriptor listener_;
  FileDescriptor connection_;
  wire::FrameReader frames_;
};

// The client refuses after its Hello, which still asked for runs: it sends the refusal later.
TEST(Client, RefusesGrantsThatItAskedForWhileItConnected) {
  TemporaryDirectory directory;
  SlowServer server(directory.path() + "/state");
  StateOptions options;
  options.directory = directory.path() + "/state";
  options.on_run_granted = [](const GrantedRun&) {};
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  server.Accept();
  EXPECT_EQ(server.Receive(), wire::FrameType::kHello);
  client.RefuseGrants();
  server.Send(wire::MakeMessage(Welcome{1}, wire::kProtocolMax));
  EXPECT_EQ(server.Receive(), wire::FrameType::kRefuseGrants);
}

TEST(Client, RefusesCallsWhileTheServerTakesNoRequests) {
  constexpr size_t kBytesMax = 1024 * 1024;
  TemporaryDirectory directory;
  SlowServer server(directory.path() + "/state");
  StateOptions options;
  options.directory = directory.path() + "/state";
  const auto link = std::make_shared<Link>(options, kBytesMax);
  ASSERT_TRUE(link->Start().ok());
  server.Accept();
  EXPECT_EQ(server.Receive(), wire::FrameType::kHello);
  server.Send(wire::MakeMessage(Welcome{1}, wire::kProtocolMax));
  server.Send(wire::MakeMessage(Ping{}, wire::kProtocolMax));
  EXPECT_EQ(server.Receive(), wire::FrameType::kPong) << "the client has read the Welcome";

  runtime::Cancellation cancelled;
  cancelled.Cancel(runtime::CancelReason::kClientGone);
  const auto call = [&] {
    std::string request = link->BeginRequest(Operation::kGetState, 1);
    pack::Packer packer(request);
    pack::Pack(packer, std::string(kBytesMax / 8, 'x'));
    Channel::CallOptions wait;
    wait.cancellation = &cancelled;
    return link->Call(std::move(request), wait).status().code();
  };
  // No caller waits, so nothing is pending. The socket takes some of the requests.
  StatusCode code = StatusCode::kCancelled;
  for (int calls = 0; code == StatusCode::kCancelled && calls < 100; ++calls) code = call();
  EXPECT_EQ(code, StatusCode::kResourceExhausted);
  while (code == StatusCode::kResourceExhausted) {
    EXPECT_EQ(server.Receive(), wire::FrameType::kRequest);
    code = call();
  }
  EXPECT_EQ(code, StatusCode::kCancelled);
}

TEST(Client, ReportsThatAGrantedRunIsCancelledBeforeItBegins) {
  TemporaryDirectory directory;
  SlowServer server(directory.path() + "/state");
  Mailbox<std::string> granted;
  Mailbox<std::string> cancelled;
  StateOptions options;
  options.directory = directory.path() + "/state";
  options.on_run_granted = [receive = granted.Receiver()](const GrantedRun& run) {
    receive(run.run_id);
  };
  options.on_run_cancelled = [receive = cancelled.Receiver()](const std::string& thread_id,
                                                              const std::string& run_id) {
    receive(thread_id + " " + run_id);
  };
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  server.Accept();
  EXPECT_EQ(server.Receive(), wire::FrameType::kHello);
  server.Send(wire::MakeMessage(Welcome{1}, wire::kProtocolMax));
  server.Send(wire::MakeMessage(CancelRun{"t", "not granted"}, wire::kProtocolMax));
  GrantedRun run;
  run.thread_id = "t";
  run.run_id = "r";
  server.Send(wire::MakeMessage(run, wire::kProtocolMax));
  server.Send(wire::MakeMessage(CancelRun{"t", "r"}, wire::kProtocolMax));
  EXPECT_EQ(granted.Next(), "r");
  EXPECT_EQ(cancelled.Next(), "t r");
}

// Retries like a client that was asked to try later.
void ExpectThatItBegins(Client& client, const BeginRunRequest& run) {
  for (;;) {
    const Status status = client.BeginRun(run, nullptr).status();
    if (status.ok()) return;
    ASSERT_EQ(status.code(), StatusCode::kUnavailable) << status.ToString();
    std::this_thread::yield();
  }
}

TEST(Client, RunThatFailedForWantOfAnOwnerMayBeAskedForAgain) {
  TemporaryDirectory directory;
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(1000);
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  const BeginRunRequest waited = RunOn("waited");
  const BeginRunRequest refused = RunOn("refused");  // at once: there was no server for too long
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client.BeginRun(waited, nullptr).status().code(), StatusCode::kUnavailable);
    EXPECT_EQ(client.BeginRun(refused, nullptr).status().code(), StatusCode::kUnavailable);
  }
  auto server = StartServer(directory.path());
  ExpectThatItBegins(client, waited);
  ExpectThatItBegins(client, refused);
}

TEST(Client, RunWhoseEndWasNotAnsweredMayBeAskedForAgain) {
  TemporaryDirectory directory;
  ChildProcess server("Child.DISABLED_Serves", directory.path());
  RunTurn(*StartClient(directory.path()), "t", "", {UserMessage("m1")});
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(1000);
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  const BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = client.BeginRun(run, nullptr);
  while (!begun.ok()) begun = client.BeginRun(run, nullptr);
  server.Freeze();
  EXPECT_EQ(client.FinishRun(FinishOf(run, *begun)).code(), StatusCode::kUnavailable);
  EXPECT_EQ(client.BeginRun(run, nullptr).status().code(), StatusCode::kUnavailable);
  server.Thaw();
  ExpectThatItBegins(client, run);
}

}  // namespace
}  // namespace agent_graph::state
