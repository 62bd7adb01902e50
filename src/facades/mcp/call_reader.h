// Makes the result of a call of the agent's tool from the events of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "api/stream/run_reader.h"
#include "facades/mcp/call_writer.h"
#include "facades/mcp/questions.h"
#include "facades/run/held_bytes.h"

namespace agent_graph::mcp {

// Reads the events of a run: reports progress, and collects the answer. It does not end the
// exchange: the caller does, with what the reader has found.
class CallReader : public api::RunReader {
 public:
  // `progress_token_json`: the client's token; empty: it wants no reports. `held` counts the
  // answer. The writer must outlive the reader.
  CallReader(const api::HandlerContext& context, const Peer& peer, CallWriter& writer,
             std::string progress_token_json, facades::HeldBytes held);

  Status OnStart(const run::RunStart& start, const state::RunRecord* record) override;
  Status OnDelta(const run::RunDelta&, const api::EventPlace&, bool) override {
    return Status::Ok();
  }
  Status OnMessage(const api::MessageEvent& event, const api::EventPlace& place) override;
  Status OnReset(std::string_view, uint32_t) override { return Status::Ok(); }
  Status OnError(const api::RunError& error, const api::EventPlace& place) override;
  Status OnEnd(const api::RunEnd& end, const api::EventPlace& place) override;
  Status OnIdle() override { return writer_.SendComment(); }

  const std::string& thread_id() const { return thread_id_; }
  const std::string& run_id() const { return run_id_; }
  run::RunStatus outcome() const { return outcome_; }
  const std::string& error() const { return error_; }
  const std::string& interrupt_json() const { return interrupt_json_; }

  // Returns the members of a CallToolResult. `shows_thread`: later calls may continue the thread.
  std::string ResultMembers(bool shows_thread) const;

 private:
  Status Report(const std::string& text);

  CallWriter& writer_;
  const std::string progress_token_json_;
  const std::string files_url_;
  const std::string revision_;  // of the client
  uint64_t reports_ = 0;
  std::string thread_id_;
  std::string run_id_;
  std::string answer_;
  std::vector<MediaBlock> media_;
  uint64_t answer_bytes_ = 0;  // with media
  facades::HeldBytes held_;
  run::RunStatus outcome_ = run::RunStatus::kDone;
  std::string error_;
  std::string interrupt_json_;
};

// Returns the members of the result of a call that failed.
std::string FailedCall(std::string_view text);

}  // namespace agent_graph::mcp
