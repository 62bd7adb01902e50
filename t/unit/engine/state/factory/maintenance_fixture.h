// A database that a state server serves for some time, and that is inspected when it is not served.
#pragma once

#include <string>
#include <vector>

#include "../fixture.h"
#include "state/leveldb/database/database.h"
#include "state/leveldb/maintenance/repair.h"
#include "state/verify/verify.h"

namespace agent_graph::state {

class MaintenanceTest : public testing::Test {
 protected:
  std::string database_path() const { return directory_.path() + "/db"; }

  // Runs `use` while a state server is running.
  template <typename Use>
  void Serve(const Use& use) {
    auto server = StartServer(directory_.path());
    auto client = StartClient(directory_.path());
    use(*client);
    client->Stop();
  }
  template <typename Use>
  void Open(const Use& use) {
    auto database = LevelDatabase::OpenDirectory(database_path());
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    use(**database);
  }
  std::vector<std::string> Problems() {
    std::vector<std::string> problems;
    Open([&](Database& database) {
      Result<VerifyReport> report = Verify(database);
      ASSERT_TRUE(report.ok());
      problems = report->problems;
    });
    return problems;
  }

  static StoreMemoryRequest MemoryOf(const std::string& id, const std::string& content) {
    StoreMemoryRequest store;
    store.scope = Scope::Owner("alice");
    store.record.id = id;
    store.record.owner = "alice";
    store.record.content = content;
    return store;
  }

  TemporaryDirectory directory_;
};

}  // namespace agent_graph::state
