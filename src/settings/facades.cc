#include "settings/facades.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "agent_graph/json.h"
#include "base/text.h"

namespace agent_graph::settings {
namespace {

constexpr size_t kPathBytesMax = 128;
constexpr std::ptrdiff_t kPathSegmentsMax = 4;

bool IsPathCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~' || c == '/';
}

Status ReadFacadePath(const Value& value, FacadeSettings& facade) {
  std::string path;
  AG_RETURN_IF_ERROR(value.ReadString(path));
  const bool usable = path.size() > 1 && path.size() <= kPathBytesMax && path.front() == '/' &&
                      path.back() != '/' && path.find("//") == std::string::npos &&
                      std::ranges::count(path, '/') <= kPathSegmentsMax &&
                      std::ranges::all_of(path, IsPathCharacter) && !HasDotComponent(path);
  if (!usable) {
    return value.Error("must be a path such as /v1: 1 to 4 parts of letters, digits and - . _ ~");
  }
  facade.path = std::move(path);
  return Status::Ok();
}

Status ReadShownTools(const Value& value, OpenAiSettings& openai) {
  using Show = OpenAiSettings::ShowTools;
  static constexpr Choice<Show> kForms[] = {
      {"hidden", Show::kHidden}, {"reasoning", Show::kReasoning}, {"content", Show::kContent}};
  return value.ReadChoice(kForms, openai.show_tools);
}

constexpr Key<OpenAiSettings> kOpenAiKeys[] = {
    {"path", [](const Value& v, OpenAiSettings& o) { return ReadFacadePath(v, o.facade); }},
    {"show_tools", ReadShownTools},
};

Status ReadOpenAi(const Value& value, FacadesSettings& facades) {
  OpenAiSettings& openai = facades.openai;
  if (value.node().is_boolean()) return value.ReadBoolean(openai.facade.enabled);
  openai.facade.enabled = true;
  return ReadObject(value, kOpenAiKeys, openai);
}

Status ReadOnDisconnect(const Value& value, AgUiSettings& agui) {
  static constexpr Choice<bool> kContinues[] = {{"cancel", false}, {"continue", true}};
  return value.ReadChoice(kContinues, agui.continues);
}

constexpr Key<AgUiSettings> kAgUiKeys[] = {
    {"path", [](const Value& v, AgUiSettings& a) { return ReadFacadePath(v, a.facade); }},
    {"on_disconnect", ReadOnDisconnect},
};

Status ReadAgUi(const Value& value, FacadesSettings& facades) {
  AgUiSettings& agui = facades.agui;
  if (value.node().is_boolean()) return value.ReadBoolean(agui.facade.enabled);
  agui.facade.enabled = true;
  return ReadObject(value, kAgUiKeys, agui);
}

// `read` reads one element into `out`.
Status ReadList(const Value& value, Status (*read)(const Value&, std::string&),
                std::vector<std::string>& out) {
  AG_ASSIGN_OR_RETURN(const std::vector<Value> elements, value.Elements());
  for (const Value& element : elements) AG_RETURN_IF_ERROR(read(element, out.emplace_back()));
  return Status::Ok();
}

Status ReadServers(const Value& value, McpSettings& mcp) {
  const auto read = [](const Value& element, std::string& out) { return element.ReadBaseUrl(out); };
  return ReadList(value, read, mcp.authorization_servers);
}

// Scopes are sent in a quoted string of the header WWW-Authenticate.
Status ReadScopes(const Value& value, McpSettings& mcp) {
  const auto read = [](const Value& element, std::string& out) {
    AG_RETURN_IF_ERROR(element.ReadString(out));
    const bool usable = !out.empty() && std::ranges::all_of(out, [](char c) {
      return c > ' ' && c < 127 && c != '"' && c != '\\';
    });
    return usable ? Status::Ok() : element.Error("must be the name of a scope");
  };
  return ReadList(value, read, mcp.scopes);
}

constexpr Key<McpSettings> kMcpKeys[] = {
    {"path", [](const Value& v, McpSettings& m) { return ReadFacadePath(v, m.facade); }},
    {"description", [](const Value& v, McpSettings& m) { return v.ReadString(m.description); }},
    {"tools", [](const Value& v, McpSettings& m) { return v.ReadStrings(m.tools); }},
    {"url", [](const Value& v, McpSettings& m) { return v.ReadBaseUrl(m.url); }},
    {"authorization_servers", ReadServers},
    {"scopes", ReadScopes},
};

Status ReadMcp(const Value& value, FacadesSettings& facades) {
  McpSettings& mcp = facades.mcp;
  if (value.node().is_boolean()) return value.ReadBoolean(mcp.facade.enabled);
  mcp.facade.enabled = true;
  return ReadObject(value, kMcpKeys, mcp);
}

constexpr Key<FacadesSettings> kFacadeKeys[] = {
    {"openai", ReadOpenAi},
    {"agui", ReadAgUi},
    {"mcp", ReadMcp},
};

}  // namespace

Status ReadFacades(const Value& value, Settings& settings) {
  return ReadObject(value, kFacadeKeys, settings.facades);
}

void ApplyModeToFacades(Settings& settings) {
  const bool enabled = settings.mode == Mode::kDevelopment;
  settings.facades.openai.facade.enabled = enabled;
  settings.facades.agui.facade.enabled = enabled;
  settings.facades.mcp.facade.enabled = enabled;
}

}  // namespace agent_graph::settings
