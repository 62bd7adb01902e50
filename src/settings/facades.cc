#include "settings/facades.h"

#include <algorithm>
#include <array>
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
  static constexpr std::array<std::string_view, 3> kNames = {"hidden", "reasoning", "content"};
  static constexpr std::array kForms = {Show::kHidden, Show::kReasoning, Show::kContent};
  size_t index = 0;
  AG_RETURN_IF_ERROR(value.ReadChoice(kNames, index));
  openai.show_tools = kForms[index];
  return Status::Ok();
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
  static constexpr std::array<std::string_view, 2> kNames = {"cancel", "continue"};
  size_t index = 0;
  AG_RETURN_IF_ERROR(value.ReadChoice(kNames, index));
  agui.continues = index == 1;
  return Status::Ok();
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

constexpr Key<FacadesSettings> kFacadeKeys[] = {
    {"openai", ReadOpenAi},
    {"agui", ReadAgUi},
};

}  // namespace

Status ReadFacades(const Value& value, Settings& settings) {
  return ReadObject(value, kFacadeKeys, settings.facades);
}

void ApplyModeToFacades(Settings& settings) {
  const bool enabled = settings.mode == Mode::kDevelopment;
  settings.facades.openai.facade.enabled = enabled;
  settings.facades.agui.facade.enabled = enabled;
}

}  // namespace agent_graph::settings
