#include "run/log/run_usage.h"

#include <cstdio>
#include <functional>
#include <variant>

#include "run/log/json_object.h"

namespace agent_graph::run {
namespace {

size_t HashOf(const std::string& id) {
  return std::hash<std::string>()(id);
}

}  // namespace

void RunUsage::Count(const EntryBody& body) {
  if (const auto* finished = std::get_if<entry::ModelFinished>(&body)) {
    ++model_calls_;
    if (!finished->reply) return;
    input_tokens_ += finished->reply->input_tokens;
    output_tokens_ += finished->reply->output_tokens;
    cost_nano_usd_ += finished->reply->cost_nano_usd;
    counted_messages_.insert(HashOf(finished->reply->message_id));
  } else if (const auto* failed = std::get_if<entry::ModelFailed>(&body)) {
    ++failed_calls_;
    input_tokens_ += failed->input_tokens;
    output_tokens_ += failed->output_tokens;
    cost_nano_usd_ += failed->cost_nano_usd;
  } else if (const auto* lost = std::get_if<entry::ModelLost>(&body)) {
    ++failed_calls_;
    input_tokens_ += lost->input_tokens;
    cost_nano_usd_ += lost->cost_nano_usd;
  } else if (const auto* message = std::get_if<entry::MessageAdded>(&body)) {
    // A function node may return a message with usage that no model call of the run has.
    if (!message->usage || message->node.empty()) return;
    if (counted_messages_.erase(HashOf(message->message_id)) > 0) return;
    ++model_calls_;
    input_tokens_ += message->usage->prompt_tokens;
    output_tokens_ += message->usage->completion_tokens;
  } else if (const auto* intent = std::get_if<entry::ToolIntent>(&body)) {
    if (intent->remote) {
      ++tool_calls_;
    } else {
      intended_calls_.insert(HashOf(intent->call.call_id));
    }
  } else if (const auto* started = std::get_if<entry::ToolStarted>(&body)) {
    ++tool_calls_;
    intended_calls_.erase(HashOf(started->call.call_id));
  } else if (std::holds_alternative<entry::AttemptStarted>(body)) {
    EndAttempt();
  }
}

void RunUsage::EndAttempt() {
  tool_calls_ += static_cast<int64_t>(intended_calls_.size());
  intended_calls_.clear();
}

std::string RunUsage::ToJson() const {
  ObjectWriter out;
  out.Number("input_tokens", input_tokens_)
      .Number("output_tokens", output_tokens_)
      .Number("model_calls", model_calls_)
      .Number("tool_calls", tool_calls_);
  if (cost_nano_usd_ != 0) {
    char dollars[32];
    std::snprintf(dollars, sizeof dollars, "%.9g", static_cast<double>(cost_nano_usd_) / 1e9);
    out.Json("cost_usd", dollars);
  }
  return out.Finish();
}

}  // namespace agent_graph::run
