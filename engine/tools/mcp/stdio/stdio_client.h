// Client of an MCP server that is a program with one JSON-RPC message per line on standard input
// and output. The program is started on first use, and restarted, with delays, when it has ended.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/run_context.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "process/process.h"
#include "runtime/signal.h"
#include "tools/mcp/protocol/client.h"
#include "tools/mcp/protocol/revisions.h"

namespace agent_graph::tools::mcp {

class StdioSession;

// Thread-safe, like every Client. All callers share one execution of the program.
class StdioClient : public Client, public std::enable_shared_from_this<StdioClient> {
 public:
  struct Options {
    process::ProcessOptions program;
    Eras eras;
    std::vector<std::string> secrets;  // see Client::secrets; also removed from log lines
    std::chrono::milliseconds start_timeout{5'000};  // until the handshake is complete
    // Called when the server announces that its tools have changed, or when it has ended. On any
    // fiber.
    std::function<void()> on_tools_changed;
    std::function<void(LogLevel level, const std::string& text)> log;
  };

  StdioClient(Options options, std::shared_ptr<const process::Launcher> launcher);
  ~StdioClient() override;

  bool announces_changes() const override { return true; }
  bool wants_listener() const override { return false; }
  Result<std::chrono::milliseconds> Listen(const WaitOptions& wait) override;
  void End(const WaitOptions& wait) override;

 private:
  using SessionPtr = std::shared_ptr<StdioSession>;

  Result<RpcReply> Request(const Outgoing& outgoing, const WaitOptions& wait) override;
  std::vector<std::string> secrets() const override { return options_.secrets; }
  Result<RpcReply> RequestOnce(const Outgoing& outgoing, const WaitOptions& wait);
  Result<SessionPtr> Connect(const WaitOptions& wait);
  void StartInBackground();
  Result<SessionPtr> StartSession();
  Result<SessionPtr> StartProgram(const WaitOptions& wait);
  // Agrees with the program on a protocol revision.
  Status Introduce(StdioSession& session, bool discover, const WaitOptions& wait);
  // Returns true if the program is of the stateless era.
  Result<bool> Discover(StdioSession& session, const WaitOptions& wait);
  Status Initialize(StdioSession& session, const WaitOptions& wait);
  // Receives announcements of changes for as long as the program sends them.
  void Subscribe(const SessionPtr& session);
  void Started(Result<SessionPtr> session);
  void SessionEnded(const SessionPtr& session, const std::string& how);
  void Log(LogLevel level, std::string text) const;

  const Options options_;
  const std::shared_ptr<const process::Launcher> launcher_;
  const runtime::Cancellation ending_;

  Mutex mutex_;
  SessionPtr session_ AG_GUARDED_BY(mutex_);
  bool starting_ AG_GUARDED_BY(mutex_) = false;
  bool knows_sessions_ AG_GUARDED_BY(mutex_) = false;  // the program answered "initialize" before
  Status failure_ AG_GUARDED_BY(mutex_);               // why the last start failed
  std::chrono::milliseconds pause_ AG_GUARDED_BY(mutex_){0};
  Deadline not_before_ AG_GUARDED_BY(mutex_) = Deadline::min();
  Deadline session_began_ AG_GUARDED_BY(mutex_) = Deadline::min();
  std::vector<std::shared_ptr<runtime::Signal>> waiting_ AG_GUARDED_BY(mutex_);  // for the start
};

}  // namespace agent_graph::tools::mcp
