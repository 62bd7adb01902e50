// A tool catalog with scripted servers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../net/on_fiber.h"
#include "agent_graph/json.h"
#include "call/call_context.h"
#include "tools/catalog.h"

namespace agent_graph::tools {

class CatalogTest : public testing::OnFiber {
 protected:
  void TearDown() override {
    if (catalog_ != nullptr) catalog_->Close(runtime_);
    OnFiber::TearDown();
  }

  void Make(std::vector<McpServer> servers, std::vector<HttpTool> http_tools = {}) {
    // Raised because a loaded machine may answer more slowly than a run waits for tools.
    for (McpServer& server : servers) {
      if (server.discovery_timeout == McpServer().discovery_timeout) {
        server.discovery_timeout = std::chrono::minutes(2);
      }
    }
    auto catalog = Catalog::Create({{"TOOLS", std::move(http_tools), std::move(servers)}},
                                   {{"TOKEN", "a-secret-token"}});
    ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
    catalog_ = *std::move(catalog);
    catalog_->LogTo([this](LogLevel, const std::string& line) {
      std::lock_guard lock(mutex_);
      log_ += line + "\n";
    });
  }
  // `server` is one of the scripted ones.
  template <typename Server>
  void MakeWith(const Server& server, McpServer settings = {}) {
    settings.name = "s";
    settings.url = server.url();
    Make({settings});
  }

  ToolList List() {
    return Run([&] { return catalog_->ToolsOf("TOOLS", runtime::Cancellation(), kNoDeadline); });
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const CatalogToolPtr& tool : List()) names.push_back(tool->tool.name);
    return names;
  }
  ToolOutput Call(const std::string& name, const json& arguments = json::object()) {
    for (const CatalogToolPtr& entry : List()) {
      if (entry->tool.name != name) continue;
      return Run([&] { return entry->tool.function(arguments, context_); });
    }
    return ToolOutput::Error("not listed");
  }
  std::string log() {
    std::lock_guard lock(mutex_);
    return log_;
  }

  TestContext context_;
  std::unique_ptr<Catalog> catalog_;

 private:
  std::mutex mutex_;
  std::string log_;
};

}  // namespace agent_graph::tools
