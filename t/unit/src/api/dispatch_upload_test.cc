// Uploads: how long a client may take.
#include "dispatch_fixture.h"

namespace agent_graph::api {
namespace {

class UploadTest : public DispatchTest {};

// As for a run, so that a slow client of a large file can be given the time it needs.
TEST_F(UploadTest, MayTakeAsLongAsARun) {
  more_headers_ = {{"content-type", "multipart/form-data; boundary=b"}};
  run_timeout_ms_ = 1;
  auto exchange = std::make_shared<bridge::Exchange>(bridge::ExchangeAddress{1, 1},
                                                     Head("POST", "/v1/files/upload"), outbox_,
                                                     bridge::CreditLimits{});
  runtime::Promise<bool> done;
  runtime_.Spawn([=, this] {
    Dispatch(exchange, api_);
    done.Set(true);
  });
  EXPECT_TRUE(done.Wait(nullptr, kNoDeadline).ok());
  EXPECT_EQ(Take().status, 504);
}

}  // namespace
}  // namespace agent_graph::api
