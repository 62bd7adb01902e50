// Shows the chunks of a stream in a terminal: text as it comes, tool calls and their results.
#pragma once

#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"

namespace agent_graph::cli {

// A call without a result so far.
struct OpenCall {
  std::string id;
  std::string name;
  std::string arguments;
};

// One instance per conversation. A chunk that is not understood is skipped: later versions of the
// service may send others.
class ChatView {
 public:
  explicit ChatView(std::FILE* out) : out_(out) {}

  // `line` is one line of the stream.
  void Show(std::string_view line);
  // Ends the line that the last text has left open.
  void EndLine();
  // The calls of the conversation that have no result, oldest first.
  const std::vector<OpenCall>& open_calls() const { return open_calls_; }
  // The arguments as JSON; empty if there is no such open call, as in a conversation that another
  // client began.
  std::string ArgumentsOf(std::string_view call_id) const;
  bool failed() const { return failed_; }  // the last run ended with an error
  void BeginRun() { failed_ = false; }

 private:
  void ShowMessage(const json& message);
  void ShowBlock(const json& block, bool has_streamed);
  void ShowCall(const json& block);
  void ShowResult(const json& block);
  void PrintText(const std::string& text);
  void PrintLine(const std::string& line);

  std::FILE* out_;
  std::set<std::string> streamed_;  // ids of messages whose text was shown in pieces
  std::vector<OpenCall> open_calls_;
  bool in_line_ = false;
  bool failed_ = false;
};

}  // namespace agent_graph::cli
