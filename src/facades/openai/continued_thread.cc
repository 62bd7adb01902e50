#include "facades/openai/continued_thread.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "base/sha256.h"
#include "bridge/exchange.h"
#include "runtime/runtime.h"
#include "state/runs.h"
#include "state/service.h"

namespace agent_graph::openai {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr char kRoute[] = "openai continued response";
// Time from the claim to the begin of the run, with room. If the request is refused meanwhile, the
// next one has to wait for so long.
constexpr microseconds kClaimed = std::chrono::seconds(2);
constexpr milliseconds kFirstDelay{10};
constexpr milliseconds kDelayMax{200};

Result<bool> IsLatest(api::HandlerContext& context, const ResponseName& response) {
  state::ListRunsRequest list;
  list.scope = context.caller().scope;
  list.thread_id = response.thread_id;
  list.limit = 1;
  AG_ASSIGN_OR_RETURN(const state::RunPage latest, context.state().ListRuns(list));
  return !latest.runs.empty() && latest.runs.front().run_id == response.run_id;
}

}  // namespace

Result<bool> ClaimThread(api::HandlerContext& context, const ResponseName& previous) {
  state::ClaimKeyRequest claim;
  claim.user = context.caller().user_id;
  claim.key = {kRoute, Sha256Hex(ResponseId(previous)), ""};
  claim.value = NewUuid();
  for (milliseconds delay = kFirstDelay;; delay = std::min(2 * delay, kDelayMax)) {
    AG_ASSIGN_OR_RETURN(const bool is_latest, IsLatest(context, previous));
    if (!is_latest) return false;
    claim.expires_micros = UnixMicros() + kClaimed.count();
    AG_ASSIGN_OR_RETURN(const state::KeyRecord claimed, context.state().ClaimKey(claim));
    // The run of the request that had the claim before may have begun since the check.
    if (claimed.value == claim.value) return IsLatest(context, previous);
    AG_RETURN_IF_ERROR(runtime::SleepFor(delay, &context.exchange().cancellation()));
  }
}

}  // namespace agent_graph::openai
