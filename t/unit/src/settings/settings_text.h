// Loads settings from text.
#pragma once

#include <gtest/gtest.h>

#include "settings/settings.h"

namespace agent_graph::settings {

inline constexpr char kFile[] = "/etc/nginx/agent/service.json";

inline Result<Settings> LoadText(const std::string& text, const Environment& environment = {}) {
  return Load(kFile, text, environment);
}

// A document with a valid agent and `member`.
inline std::string With(const std::string& member) {
  return R"({"agent": "graphs/support.so:app", )" + member + "}";
}

}  // namespace agent_graph::settings
