// A listing of threads whose database goes away in the middle.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "state/requests.h"
#include "state/rows/database.h"
#include "state/rows/keys.h"
#include "state/thread/listing.h"

namespace agent_graph::state {
namespace {

// Has read one row of the listing; nothing else can be read.
class ViewInAnOutage : public DatabaseView {
 public:
  Result<std::optional<std::string>> Get(const std::string&) const override { return Away(); }
  Status Scan(const std::string&, const std::string&, const RowUse& row) const override {
    row(keys::Listing(1, "t"), "");
    return Status::Ok();
  }
  Status ScanBackwards(const std::string&, const std::string&, const RowUse&) const override {
    return Away();
  }
  std::unique_ptr<RowCursor> NewCursor(const std::string&, std::string) const override {
    return nullptr;
  }

 private:
  static Status Away() { return {StatusCode::kUnavailable, "the database is away"}; }
};

TEST(ListingOutage, IsNoLossOfData) {
  ListThreadsRequest request;
  request.scope = Scope::All();
  request.page.limit = 10;
  const DatabaseSnapshot snapshot(std::make_unique<ViewInAnOutage>());
  EXPECT_EQ(ReadThreadPage(snapshot, request).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace agent_graph::state
