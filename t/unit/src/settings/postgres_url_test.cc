// URLs of PostgreSQL databases.
#include "settings/postgres_url.h"

#include <gtest/gtest.h>

#include <string>

#include "settings_text.h"

namespace agent_graph::settings {
namespace {

Result<Settings> LoadUrl(const std::string& url, const Environment& environment = {}) {
  return LoadText(With("\"checkpointer\": {\"type\": \"postgres\", \"url\": \"" + url + "\"}"),
                  environment);
}

TEST(PostgresUrl, IsReadAsLibpqReadsIt) {
  for (const char* url :
       {"postgresql://host/database", "postgres://host:5432/database",
        "postgresql://user@host/database", "postgresql://user:secret@host:6432/database",
        "postgresql://user:a%40b%2Fc%3A%25@host/database", "postgresql://[::1]:5432/database",
        "postgresql://a:5432,b:5433,c/database?target_session_attrs=read-write",
        "postgresql:///database?host=/run/postgresql", "postgresql://?host=%2Frun&dbname=database",
        "postgresql://host/database?sslmode=require&sslrootcert=/dev/null",
        "postgresql://host/database?sslmode=verify-full&sslrootcert=system",
        "postgresql://host/database?options=-c%20search_path%3Dagent&tcp_user_timeout=2000"}) {
    EXPECT_TRUE(CheckPostgresUrl(url).ok()) << url << ": " << CheckPostgresUrl(url).ToString();
  }
}

TEST(PostgresUrl, ErrorsDoNotQuoteThePassword) {
  for (const char* url : {"",
                          "host/database",
                          "mysql://u:s3cret@host/database",
                          "postgresql://u:s3cret@host",
                          "postgresql://u:s3cret@host/",
                          "postgresql://u:s3cret@host:0/database",
                          "postgresql://u:s3cret@host:65536/database",
                          "postgresql://u:s3cret@[::1/database",
                          "postgresql://u:s3@cret@host/database",
                          "postgresql://u:s3/cret@host/database",
                          "postgresql://u:s3?cret@host/database",
                          "postgresql://u:s3#cret@host/database",
                          "postgresql://u:s3:cret/@host/database",
                          "postgresql://u:s3%cret@host/database",
                          "postgresql://u:s3 cret@host/database",
                          "postgresql://u:s3cret@host/a/b",
                          "postgresql://u:s3cret@host/database?sslmode",
                          "postgresql://u@host/database?s3cret=1",
                          "postgresql://u:s3cret@host/database?sslmode=on",
                          "postgresql:///d?port=s3cret",
                          "postgresql://u:s3cret@host/database?service=other"}) {
    const Result<Settings> settings = LoadUrl(url);
    ASSERT_FALSE(settings.ok()) << url;
    const std::string text = settings.status().ToString();
    EXPECT_NE(text.find("checkpointer.url: "), std::string::npos) << text;
    EXPECT_EQ(text.find("s3"), std::string::npos) << text;
    EXPECT_EQ(text.find("cret"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST(PostgresUrl, NamesAFileThatCannotBeRead) {
  const Status refused = CheckPostgresUrl("postgresql://h/d?sslmode=verify-ca&sslrootcert=/no/ca");
  EXPECT_EQ(refused.message(), "sslrootcert: cannot read /no/ca: No such file or directory");
}

TEST(PostgresUrl, MayComeFromTheEnvironment) {
  const Result<Settings> settings =
      LoadUrl("${DATABASE_URL}", {{"DATABASE_URL", "postgresql://u:s3cret@host/database"}});
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->checkpointer.type, CheckpointerSettings::Type::kPostgres);
  EXPECT_EQ(settings->checkpointer.url, "postgresql://u:s3cret@host/database");
}

TEST(PostgresUrl, FilesAreInTheDatabaseUnlessTheConfigurationSaysOtherwise) {
  const std::string checkpointer =
      R"("checkpointer": {"type": "postgres", "url": "postgresql://h/d"})";
  using Storage = MediaSettings::Storage;
  Result<Settings> settings = LoadText(With(checkpointer));
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->media.storage, Storage::kDatabase);
  settings = LoadText(With(checkpointer + R"(, "media": {"storage_type": "local"})"));
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->media.storage, Storage::kLocal);
  settings = LoadText(With(checkpointer), {{"MEDIA_STORAGE_TYPE", "memory"}});
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->media.storage, Storage::kMemory);
}

}  // namespace
}  // namespace agent_graph::settings
