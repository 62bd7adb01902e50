#include "settings/media.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "agent_graph/json.h"
#include "base/letter_case.h"
#include "settings/url.h"

namespace agent_graph::settings {
namespace {

using CloudOptions = media::s3::StorageOptions;

constexpr double kMegabytesMax = 1024 * 1024;
constexpr double kBytesOfMegabyte = 1024 * 1024;
constexpr uint64_t kMemoryTotalDefault = 256ull * 1024 * 1024;

Status ReadStorage(const Value& value, MediaSettings& media) {
  using Storage = MediaSettings::Storage;
  static constexpr Choice<Storage> kStorages[] = {{"memory", Storage::kMemory},
                                                  {"local", Storage::kLocal},
                                                  {"pg", Storage::kDatabase},
                                                  {"cloud", Storage::kCloud}};
  Storage chosen = Storage::kMemory;
  AG_RETURN_IF_ERROR(value.ReadChoice(kStorages, chosen));
  media.chosen = chosen;
  return Status::Ok();
}

Status ReadPath(const Value& value, MediaSettings& media) {
  AG_RETURN_IF_ERROR(value.ReadString(media.path));
  while (media.path.starts_with("./")) media.path.erase(0, 2);
  while (media.path.size() > 1 && media.path.ends_with('/')) media.path.pop_back();
  if (media.path.empty()) return value.Error("must name a directory");
  if (media.path[0] != '/' && ("/" + media.path + "/").find("/../") != std::string::npos) {
    return value.Error(
        "must be absolute, or have no .. in it: it is relative to the state directory");
  }
  return Status::Ok();
}

// Reads a positive number, or text that is one, which is what an expanded variable gives.
Status ReadMegabytes(const Value& value, double& out) {
  double number = 0;
  if (value.IsString()) {
    std::string text;
    AG_RETURN_IF_ERROR(value.ReadString(text));
    char* end = nullptr;
    number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') number = 0;
  } else if (value.node().is_number()) {
    number = value.node().get<double>();
  }
  if (!std::isfinite(number) || number <= 0 || number > kMegabytesMax) {
    return value.Error("must be a number above 0, at most 1048576");
  }
  out = number;
  return Status::Ok();
}

Status ReadMaxSize(const Value& value, MediaSettings& media) {
  return ReadMegabytes(value, media.max_size_mb);
}

Status ReadTotalSize(const Value& value, MediaSettings& media) {
  if (value.IsNull()) return Status::Ok();
  double megabytes = 0;
  AG_RETURN_IF_ERROR(ReadMegabytes(value, megabytes));
  media.total_bytes_max = static_cast<uint64_t>(megabytes * kBytesOfMegabyte);
  return Status::Ok();
}

Status ReadDocuments(const Value& value, MediaSettings& media) {
  using Documents = MediaSettings::Documents;
  static constexpr Choice<Documents> kDocuments[] = {{"extract_text", Documents::kExtractText},
                                                     {"pass_raw", Documents::kPassRaw},
                                                     {"skip", Documents::kSkip}};
  return value.ReadChoice(kDocuments, media.documents);
}

Status ReadAllowedTypes(const Value& value, MediaSettings& media) {
  AG_RETURN_IF_ERROR(value.ReadStrings(media.allowed_types));
  for (std::string& type : media.allowed_types) {
    type = type.substr(0, type.find(';'));
    while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
    type = LowerCase(type);
    size_t slash = type.find('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == type.size()) {
      return value.Error("each type is written as image/png or image/*");
    }
  }
  return Status::Ok();
}

Status ReadHostPatterns(const Value& value, HostPatterns& patterns) {
  std::vector<std::string> texts;
  AG_RETURN_IF_ERROR(value.ReadStrings(texts));
  for (size_t i = 0; i < texts.size(); ++i) {
    const Status added = patterns.Add(texts[i]);
    if (!added.ok()) return value.Element(i).Error(added.message());
  }
  return Status::Ok();
}

Status ReadRequireOwner(const Value& value, MediaSettings& media) {
  if (!value.IsString()) return value.ReadBoolean(media.require_owner);
  static constexpr Choice<bool> kBooleans[] = {{"false", false}, {"true", true}};
  return value.ReadChoice(kBooleans, media.require_owner);
}

// --- cloud ----------------------------------------------------------------------------------

constexpr int64_t kUrlSecondsMax = 7 * 24 * 60 * 60;  // the maximum of S3

Status ReadProvider(const Value& value, CloudOptions&) {
  static constexpr std::array<std::string_view, 1> kNames = {"aws"};
  std::string name;
  if (value.IsString()) AG_RETURN_IF_ERROR(value.ReadString(name));
  if (name == "gcp") {
    return value.Error(
        "\"gcp\" is not available in this build; its S3-compatible API works as \"aws\" with an "
        "endpoint");
  }
  size_t index = 0;
  return value.ReadName(kNames, index);
}

Status ReadEndpoint(const Value& value, CloudOptions& cloud) {
  AG_RETURN_IF_ERROR(value.ReadString(cloud.endpoint));
  while (cloud.endpoint.ends_with('/')) cloud.endpoint.pop_back();
  const Status usable = CheckHttpUrl(cloud.endpoint, UrlShape::kOrigin);
  return usable.ok() ? usable : value.Error(usable.message());
}

Status ReadBucket(const Value& value, CloudOptions& cloud) {
  AG_RETURN_IF_ERROR(value.ReadString(cloud.bucket));
  bool valid = !cloud.bucket.empty() && std::ranges::all_of(cloud.bucket, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
  return valid ? Status::Ok() : value.Error("is not the name of a bucket");
}

// Reads seconds as an integer or as text.
Status ReadSeconds(const Value& value, int64_t minimum, int64_t& out) {
  if (!value.IsString()) return value.ReadInteger(minimum, kUrlSecondsMax, out);
  std::string text;
  AG_RETURN_IF_ERROR(value.ReadString(text));
  char* end = nullptr;
  int64_t number = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || number < minimum || number > kUrlSecondsMax) {
    return value.Error("must be an integer from " + std::to_string(minimum) + " to " +
                       std::to_string(kUrlSecondsMax));
  }
  out = number;
  return Status::Ok();
}

constexpr Key<CloudOptions> kCloudKeys[] = {
    {"provider", ReadProvider},
    {"endpoint", ReadEndpoint},
    {"bucket", ReadBucket},
    {"region", [](const Value& v, CloudOptions& c) { return v.ReadSecret(c.region); }},
    {"access_key_id",
     [](const Value& v, CloudOptions& c) { return v.ReadSecret(c.credentials.access_key); }},
    {"secret_access_key",
     [](const Value& v, CloudOptions& c) { return v.ReadSecret(c.credentials.secret_key); }},
    {"session_token",
     [](const Value& v, CloudOptions& c) { return v.ReadSecret(c.credentials.session_token); }},
    {"signed_url_ttl_seconds",
     [](const Value& v, CloudOptions& c) { return ReadSeconds(v, 1, c.url_lifetime_seconds); }},
    {"signed_url_refresh_buffer_seconds",
     [](const Value& v, CloudOptions& c) { return ReadSeconds(v, 0, c.url_refresh_seconds); }},
};

Status ReadCloud(const Value& value, MediaSettings& media) {
  return ReadObject(value, kCloudKeys, media.cloud);
}

constexpr Key<CloudOptions> kCloudVariables[] = {
    {"MEDIA_CLOUD_PROVIDER", ReadProvider},
    {"MEDIA_CLOUD_ENDPOINT", ReadEndpoint},
    {"MEDIA_CLOUD_BUCKET", ReadBucket},
    {"MEDIA_CLOUD_REGION", [](const Value& v, CloudOptions& c) { return v.ReadSecret(c.region); }},
    {"MEDIA_CLOUD_ACCESS_KEY_ID",
     [](const Value& v, CloudOptions& c) { return v.ReadSecret(c.credentials.access_key); }},
    {"MEDIA_CLOUD_SECRET_ACCESS_KEY",
     [](const Value& v, CloudOptions& c) { return v.ReadSecret(c.credentials.secret_key); }},
    {"MEDIA_CLOUD_SESSION_TOKEN",
     [](const Value& v, CloudOptions& c) { return v.ReadSecret(c.credentials.session_token); }},
    {"MEDIA_SIGNED_URL_TTL_SECONDS",
     [](const Value& v, CloudOptions& c) { return ReadSeconds(v, 1, c.url_lifetime_seconds); }},
    {"MEDIA_SIGNED_URL_REFRESH_BUFFER_SECONDS",
     [](const Value& v, CloudOptions& c) { return ReadSeconds(v, 0, c.url_refresh_seconds); }},
};

// --- media ----------------------------------------------------------------------------------

constexpr Key<MediaSettings> kMediaKeys[] = {
    {"storage_type", ReadStorage},
    {"storage_path", ReadPath},
    {"max_size_mb", ReadMaxSize},
    {"total_size_mb", ReadTotalSize},
    {"document_handling", ReadDocuments},
    {"allowed_content_types", ReadAllowedTypes},
    {"require_owner", ReadRequireOwner},
    {"cloud", ReadCloud},
    {"url_allow",
     [](const Value& v, MediaSettings& m) { return ReadHostPatterns(v, m.urls.allowed); }},
    {"url_deny",
     [](const Value& v, MediaSettings& m) { return ReadHostPatterns(v, m.urls.denied); }},
};

constexpr Key<MediaSettings> kVariables[] = {
    {"MEDIA_STORAGE_TYPE", ReadStorage},
    {"MEDIA_STORAGE_PATH", ReadPath},
    {"MEDIA_CLOUD_PREFIX", ReadPath},
    {"MEDIA_MAX_SIZE_MB", ReadMaxSize},
    {"MEDIA_TOTAL_SIZE_MB", ReadTotalSize},
    {"DOCUMENT_HANDLING", ReadDocuments},
    {"MEDIA_ALLOWED_CONTENT_TYPES", ReadAllowedTypes},
    {"MEDIA_REQUIRE_OWNER", ReadRequireOwner},
};

template <typename Target, size_t kRows>
Status ReadVariables(const Settings& settings, const Key<Target> (&rows)[kRows], Target& target) {
  for (const Key<Target>& row : rows) {
    auto found = settings.environment.find(row.name);
    if (found == settings.environment.end() || found->second.empty()) continue;
    const json text = found->second;
    // The value of a variable is used as it is: ${NAME} in it is not expanded again.
    const Environment none;
    AG_RETURN_IF_ERROR(row.read(Value(text, std::string(row.name), none), target));
  }
  return Status::Ok();
}

// Hosts that share a database share the files in it, too, unless the configuration says otherwise.
Status ChooseStorage(Settings& settings) {
  using Storage = MediaSettings::Storage;
  const bool has_database = settings.checkpointer.type == CheckpointerSettings::Type::kPostgres;
  MediaSettings& media = settings.media;
  media.storage = media.chosen.value_or(has_database ? Storage::kDatabase : Storage::kLocal);
  if (media.storage != Storage::kDatabase || has_database) return Status::Ok();
  return Status(StatusCode::kInvalidArgument,
                "media.storage_type: \"pg\" is the database of the checkpointer; set "
                "checkpointer.type to postgres, and checkpointer.url");
}

}  // namespace

Status ReadMediaVariables(Settings& settings) {
  AG_RETURN_IF_ERROR(ReadVariables(settings, kVariables, settings.media));
  return ReadVariables(settings, kCloudVariables, settings.media.cloud);
}

Status ReadMedia(const Value& value, Settings& settings) {
  if (value.IsNull()) return Status::Ok();
  if (value.IsString()) return ReadStorage(value, settings.media);
  return ReadObject(value, kMediaKeys, settings.media);
}

Status CompleteMedia(Settings& settings) {
  MediaSettings& media = settings.media;
  AG_RETURN_IF_ERROR(ChooseStorage(settings));
  media.urls.private_denied = settings.mode == Mode::kProduction;
  if (media.storage == MediaSettings::Storage::kMemory && !media.total_bytes_max) {
    media.total_bytes_max = kMemoryTotalDefault;
  }
  if (media.storage != MediaSettings::Storage::kCloud) return Status::Ok();
  CloudOptions& cloud = media.cloud;
  cloud.prefix = media.path.substr(std::min(media.path.find_first_not_of('/'), media.path.size()));
  const char* missing = cloud.bucket.empty()                   ? "bucket"
                        : cloud.credentials.access_key.empty() ? "access_key_id"
                        : cloud.credentials.secret_key.empty() ? "secret_access_key"
                                                               : nullptr;
  if (missing != nullptr) {
    return Status(StatusCode::kInvalidArgument,
                  "media.cloud: storage \"cloud\" needs " + std::string(missing));
  }
  if (cloud.url_refresh_seconds >= cloud.url_lifetime_seconds) {
    return Status(StatusCode::kInvalidArgument,
                  "media.cloud: the lifetime of a URL must be longer than the time before its "
                  "expiry at which it is replaced");
  }
  return Status::Ok();
}

}  // namespace agent_graph::settings
