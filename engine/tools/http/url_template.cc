#include "tools/http/url_template.h"

#include <algorithm>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/path_text.h"
#include "base/percent_encoding.h"

namespace agent_graph::tools {
namespace {

constexpr char kPlace = '\x01';

bool IsArgumentName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Expands ${NAME} and replaces each {argument} by a mark.
Result<std::string> Mark(std::string_view text, const Environment& environment,
                         std::vector<std::string>& secrets, std::vector<std::string>& arguments) {
  std::string marked;
  while (!text.empty()) {
    const size_t special = text.find_first_of("${}");
    std::string piece(text.substr(0, special));
    text.remove_prefix(piece.size());
    bool argument = false;
    if (text.starts_with("${")) {
      const size_t length =
          text.find('}') == std::string_view::npos ? text.size() : text.find('}') + 1;
      AG_ASSIGN_OR_RETURN(const std::string value,
                          ExpandVariables(text.substr(0, length), environment, &secrets));
      piece += value;
      text.remove_prefix(length);
    } else if (text.starts_with('{')) {
      const size_t close = text.find('}');
      std::string name(text.substr(1, close == std::string_view::npos ? close : close - 1));
      if (close == std::string_view::npos || !IsArgumentName(name)) {
        return InvalidArgument("\"{\" must begin the {name} of an argument");
      }
      arguments.push_back(std::move(name));
      argument = true;
      text.remove_prefix(close + 1);
    } else if (text.starts_with('}')) {
      return InvalidArgument("\"}\" without \"{\"");
    } else if (!text.empty()) {
      piece.push_back('$');
      text.remove_prefix(1);
    }
    if (std::any_of(piece.begin(), piece.end(),
                    [](char c) { return static_cast<unsigned char>(c) <= 32 || c == 127; })) {
      return InvalidArgument("must hold no blanks or control characters");
    }
    marked += piece;
    if (argument) marked.push_back(kPlace);
  }
  return marked;
}

// Returns null if the argument is missing or null.
const json* Find(const json& arguments, const std::string& name) {
  const auto found = arguments.find(name);
  return found == arguments.end() || found->is_null() ? nullptr : &*found;
}

// A server written in C would read the text only up to the NUL.
Status HoldsNul(const std::string& name) {
  return InvalidArgument("the argument \"" + name + "\" must not hold a NUL character");
}

void AppendParameterText(std::string_view text, std::string& url) {
  url.push_back(url.find('?') == std::string::npos ? '?' : '&');
  url += text;
}

}  // namespace

Result<std::string> UrlText(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return DumpJson(value);
  return InvalidArgument("must be a string, a number or a boolean");
}

Result<UrlTemplate> UrlTemplate::Parse(std::string_view text, const Environment& environment,
                                       std::vector<std::string>& secrets) {
  UrlTemplate result;
  const Result<std::string> marked = Mark(text, environment, secrets, result.arguments_);
  if (!marked.ok()) return marked.status();
  const std::string_view all = *marked;
  const size_t scheme = all.starts_with("https://") ? 8 : all.starts_with("http://") ? 7 : 0;
  if (scheme == 0) return InvalidArgument("must begin with http:// or https://");
  if (all.find('#') != std::string_view::npos) return InvalidArgument("must have no fragment");
  const size_t host_end = std::min(all.find_first_of("/?", scheme), all.size());
  const std::string_view host = all.substr(scheme, host_end - scheme);
  if (host.empty() || host.find('\\') != std::string_view::npos)
    return InvalidArgument("has no valid host");
  if (host.find(kPlace) != std::string_view::npos) {
    return InvalidArgument("arguments may stand behind the host only, after a \"/\" or \"?\"");
  }
  result.origin_ = all.substr(0, host_end);
  const size_t query = std::min(all.find('?', host_end), all.size());
  const std::string_view path = all.substr(host_end, query - host_end);
  if (!path.empty()) result.segments_ = Split(path.substr(1), '/');
  if (query + 1 < all.size()) result.parameters_ = Split(all.substr(query + 1), '&');
  return result;
}

Result<std::string> UrlTemplate::FillSegment(std::string_view segment, const json& arguments,
                                             size_t& next) const {
  std::string out;
  bool filled = false;
  for (const char c : segment) {
    if (c != kPlace) {
      out.push_back(c);
      continue;
    }
    const std::string& name = arguments_[next++];
    const json* value = Find(arguments, name);
    if (value == nullptr) return InvalidArgument("the argument \"" + name + "\" is missing");
    const Result<std::string> text = UrlText(*value);
    if (!text.ok())
      return InvalidArgument("the argument \"" + name + "\" " + text.status().message());
    if (text->empty()) return InvalidArgument("the argument \"" + name + "\" must not be empty");
    if (const char* fault = PathTextFault(*text)) {
      return InvalidArgument("the argument \"" + name + "\" " + fault);
    }
    out += PercentEncode(*text);
    filled = true;
  }
  if (!filled) return out;
  // The argument and the text around it may be valid separately, but not together: ".{name}", or
  // "%" and "2e".
  const std::string decoded = PercentDecodeLeniently(out);
  const auto refused = [&](const char* problem) {
    return InvalidArgument("the argument \"" + arguments_[next - 1] + "\" must not make " +
                           problem);
  };
  if (HoldsDotComponent(decoded)) return refused("\".\" or \"..\" a component of the path");
  if (CountEscapes(decoded) > CountEscapes(PercentDecodeLeniently(segment))) {
    return refused("a part of the path percent-encoded twice");
  }
  return out;
}

Status UrlTemplate::AppendParameter(std::string_view parameter, const json& arguments, size_t& next,
                                    std::string& url) const {
  const size_t places = static_cast<size_t>(std::count(parameter.begin(), parameter.end(), kPlace));
  const size_t first = next;
  next += places;
  // An array repeats the parameter; two arrays in one parameter would be ambiguous.
  size_t count = 1;
  for (size_t i = first; i < next; ++i) {
    const json* value = Find(arguments, arguments_[i]);
    if (value == nullptr) return Status::Ok();
    if (!value->is_array()) continue;
    if (places > 1)
      return InvalidArgument("the argument \"" + arguments_[i] + "\" must not be a list");
    count = value->size();
  }
  for (size_t element = 0; element < count; ++element) {
    std::string out;
    size_t at = first;
    for (const char c : parameter) {
      if (c != kPlace) {
        out.push_back(c);
        continue;
      }
      const std::string& name = arguments_[at++];
      const json& value = arguments.at(name);
      const Result<std::string> text = UrlText(value.is_array() ? value[element] : value);
      if (!text.ok())
        return InvalidArgument("the argument \"" + name + "\" " + text.status().message());
      if (text->find('\0') != text->npos) return HoldsNul(name);
      out += PercentEncode(*text);
    }
    AppendParameterText(out, url);
  }
  return Status::Ok();
}

Result<std::string> UrlTemplate::Fill(const json& arguments) const {
  std::string url = origin_;
  size_t next = 0;
  for (const std::string& segment : segments_) {
    AG_ASSIGN_OR_RETURN(const std::string text, FillSegment(segment, arguments, next));
    url.append("/").append(text);
  }
  if (segments_.empty()) url.push_back('/');
  for (const std::string& parameter : parameters_) {
    AG_RETURN_IF_ERROR(AppendParameter(parameter, arguments, next, url));
  }
  return url;
}

Status AppendQuery(const std::string& name, const json& value, std::string& url) {
  if (value.is_null()) return Status::Ok();
  if (value.is_array()) {
    for (const json& element : value) {
      AG_RETURN_IF_ERROR(
          AppendQuery(name, element.is_array() ? json(DumpJson(element)) : element, url));
    }
    return Status::Ok();
  }
  const Result<std::string> simple = UrlText(value);
  const std::string text = simple.ok() ? *simple : DumpJson(value);
  if (text.find('\0') != text.npos) return HoldsNul(name);
  AppendParameterText(PercentEncode(name) + "=" + PercentEncode(text), url);
  return Status::Ok();
}

}  // namespace agent_graph::tools
