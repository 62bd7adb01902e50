#include "models/metered.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace agent_graph::models {
namespace {

uint64_t Tokens(int64_t reported) {
  return static_cast<uint64_t>(std::max<int64_t>(reported, 0));
}

class MeteredModel final : public ModelProvider {
 public:
  MeteredModel(std::unique_ptr<ModelProvider> model, std::string_view name, ModelCounters& counters)
      : model_(std::move(model)), counters_(counters), calls_(counters.calls.Of(name)) {}

  bool failing() const override { return model_->failing(); }

  Result<ModelReply> Generate(const ModelRequest& request,
                              const runtime::Cancellation& cancellation,
                              const std::function<Status(const ModelDelta&)>& on_delta) override {
    const auto started = MonotonicClock::now();
    Result<ModelReply> reply = model_->Generate(request, cancellation, on_delta);
    const auto took = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(MonotonicClock::now() - started)
            .count());
    counters_.micros += took;
    calls_.Add(took);
    ++(reply.ok() ? counters_.replies : counters_.failures);
    if (reply.ok() && reply->message.usage) {
      counters_.input_tokens += Tokens(reply->message.usage->prompt_tokens);
      counters_.output_tokens += Tokens(reply->message.usage->completion_tokens);
    }
    return reply;
  }

 private:
  const std::unique_ptr<ModelProvider> model_;
  ModelCounters& counters_;
  DurationHistogram& calls_;
};

}  // namespace

std::unique_ptr<ModelProvider> Metered(std::unique_ptr<ModelProvider> model, std::string_view name,
                                       ModelCounters& counters) {
  return std::make_unique<MeteredModel>(std::move(model), name, counters);
}

}  // namespace agent_graph::models
