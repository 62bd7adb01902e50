// One execution of an MCP server's program: its input, its output and the pending requests.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/run_context.h"
#include "base/mutex.h"
#include "base/status.h"
#include "process/process.h"
#include "runtime/signal.h"
#include "tools/mcp/protocol/client.h"
#include "tools/mcp/protocol/revisions.h"
#include "tools/mcp/stdio/line_log.h"

namespace agent_graph::tools::mcp {

// written but not read by the program yet
inline constexpr size_t kOutgoingBytesMax = 8 * 1024 * 1024;
inline constexpr size_t kPendingRequestsMax = 1024;
// replies that wait for memory; no more output is read then
inline constexpr size_t kUntakenBytesMax = 16 * 1024 * 1024;

// Thread-safe. Fibers of the engine thread that created it read and write; requests come from any
// fiber, which is suspended until the reply arrives.
class StdioSession : public std::enable_shared_from_this<StdioSession> {
 public:
  struct Events {
    std::function<void()> on_tools_changed;
    // Called once; `how` is a text for the log.
    std::function<void(const std::shared_ptr<StdioSession>&, const std::string& how)> on_end;
    std::function<void(LogLevel level, const std::string& text)> log;
    // Removed from logged lines, and from the errors of replies, before they are cut.
    std::vector<std::string> secrets = {};
  };

  StdioSession(std::unique_ptr<process::Process> program, Events events);
  ~StdioSession();

  // Starts the fibers. Call on the engine thread of `program`.
  void Run();
  // Returns kUnavailable if the program has ended or ends during the request. A large reply waits
  // for memory, unless `memory` is null.
  Result<RpcReply> Request(const char* method, const json& params, ReplyMemory* memory,
                           const WaitOptions& wait);
  Status Notify(const char* method, const json& params);
  // Stores the program's description from the handshake; called once, before the session is shared.
  void SetFacts(ServerFacts facts);
  ServerFacts facts() const;
  bool ended() const;
  // Ends the program soon, and with it all pending requests.
  void End();

 private:
  void ReadOutput();
  void ReadErrors();
  void WriteInput();
  struct Pending {
    runtime::Promise<std::string> line;  // empty: the program has ended
    size_t line_bytes = 0;               // once it is there
  };

  class TakenAtEnd;

  // Takes the complete lines of `buffer`. Returns true if there were some, and none was a reply.
  bool TakeLines(std::string& buffer, size_t searched);
  // Returns true if the line is a reply.
  bool TakeLine(std::string_view line);
  void TakeMessage(std::string_view line);
  // Passes a reply to the request that waits for it; returns false if none does. Suspends while
  // requests have not taken much.
  bool PassReply(int64_t id, std::string_view line);
  void Taken(size_t line_bytes);
  Result<std::string> Await(int64_t id, const runtime::Promise<std::string>& line, Status sent,
                            const WaitOptions& wait);
  Status Send(const json& message);
  void Close(const std::string& how);
  Status Ended() const AG_REQUIRES(mutex_);

  const std::unique_ptr<process::Process> program_;
  const Events events_;
  const runtime::Cancellation ending_;
  LineLog errors_;
  LineLog noise_;

  mutable Mutex mutex_;
  ServerFacts facts_ AG_GUARDED_BY(mutex_);
  int64_t next_id_ AG_GUARDED_BY(mutex_) = 1;
  std::unordered_map<int64_t, Pending> pending_ AG_GUARDED_BY(mutex_);
  size_t untaken_bytes_ AG_GUARDED_BY(mutex_) = 0;  // replies that wait for memory
  std::string outgoing_ AG_GUARDED_BY(mutex_);
  bool closed_ AG_GUARDED_BY(mutex_) = false;
  std::string how_it_ended_ AG_GUARDED_BY(mutex_);
  runtime::Signal has_outgoing_;
  runtime::Signal taken_;
};

}  // namespace agent_graph::tools::mcp
