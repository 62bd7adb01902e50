#include "run/nodes/call_settlement.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace agent_graph::run {
namespace {

// Applies the client's decision to an undecided call. Returns true if the tool is called again.
bool TakeDecision(const ToolDecision& decision, PendingCall& call) {
  switch (decision.action) {
    case ToolDecision::Action::kRetry:
      return true;
    case ToolDecision::Action::kSkip:
      call.result = Failure(
          "the run ended while this call was being made: whether it took effect is unknown, and "
          "the user has decided not to make it again");
      return false;
    case ToolDecision::Action::kResult:
      call.result.json = decision.result_json;
      return false;
  }
  return false;
}

}  // namespace

bool TakeAnswers(const OpenInputs& inputs, PendingCall& call) {
  const OpenInput* const open = inputs.Find(call.block.id);
  if (open != nullptr && !open->answered()) {
    call.asks = *open;
    return false;
  }
  if (open != nullptr && open->undecided && !TakeDecision(*open->decision, call)) return false;
  call.input.emplace();
  if (open == nullptr || open->undecided) return true;
  call.rounds = open->rounds;
  call.input->continuation = open->pause.continuation;
  for (size_t i = 0; i < open->answers.size(); ++i) {
    call.input->answers.push_back({open->pause.questions[i], open->answers[i]});
  }
  return true;
}

bool Settle(const LostCalls* earlier, bool may_ask, PendingCall& call) {
  if (earlier == nullptr) return false;
  std::optional<LostCalls::Settled> settled = earlier->Settle(call.block.id, call.idempotency_key);
  if (!settled) return false;
  std::atomic<uint64_t>* const counter = call.environment->services->unknown_effects;
  if (!settled->is_known && counter != nullptr) ++*counter;
  if (!settled->is_known && may_ask && call.environment->services->ask_about_lost_calls) {
    call.asks = OpenInput{.call_id = call.block.id,
                          .tool = call.block.name,
                          .undecided = true,
                          .arguments_json = call.block.arguments_json};
    return true;
  }
  call.result = std::move(settled->result);
  call.end_is_logged = settled->is_known;
  return true;
}

}  // namespace agent_graph::run
