#include "extract/text.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zip.h>

#include <filesystem>
#include <map>

namespace agent_graph::extract {
namespace {

TEST(PlainText, Encodings) {
  EXPECT_EQ(PlainText("\xef\xbb\xbf a \xc3\xa9\n"), "a \xc3\xa9");
  EXPECT_EQ(PlainText("caf\xe9"), "caf\xc3\xa9");
  EXPECT_EQ(PlainText(std::string_view("\xff\xfe"
                                       "h\0i\0\x3d\xd8\x00\xde",
                                       10)),
            "hi\xf0\x9f\x98\x80");
  EXPECT_EQ(PlainText(std::string_view("\xfe\xff\0h\0i", 6)), "hi");
  EXPECT_EQ(PlainText(std::string_view("\x7f"
                                       "ELF\0",
                                       5)),
            std::nullopt);
  EXPECT_EQ(PlainText(""), "");
}

TEST(PlainText, IsCutAtACharacter) {
  std::string text(kTextBytesMax - 1, 'x');
  EXPECT_EQ(PlainText(text + "\xc3\xa9\xc3\xa9")->size(), kTextBytesMax - 1);
  EXPECT_EQ(PlainText(text + "yz")->size(), kTextBytesMax);
}

TEST(HtmlText, ShowsWhatAReaderSees) {
  EXPECT_EQ(HtmlText("<html><head><title>no</title><style>p{}</style></head><body>"
                     "<h1>Head</h1><p>one <b>two</b>\n  three</p><script>no()</script>"
                     "<ul><li>a<li>b</ul><table><tr><td>x</td><td>y</td></tr></table>&eacute;"),
            "Head\none two three\na\nb\nx\ty\n\xc3\xa9");
  EXPECT_EQ(HtmlText("just text"), "just text");
  std::string deep;
  for (int i = 0; i < 50'000; ++i) deep += "<div>";
  EXPECT_TRUE(HtmlText(deep + "x"));
}

TEST(XmlText, TakesTheTextOnly) {
  EXPECT_EQ(XmlText("<a b='no'><c>one</c><!-- no --><d><![CDATA[two]]></d></a>"), "one\ntwo");
  EXPECT_EQ(XmlText("<a><b></a>"), std::nullopt);
  EXPECT_EQ(XmlText("no xml"), std::nullopt);
}

TEST(XmlText, ExpandsAndFetchesNothing) {
  std::string laughs = "<!DOCTYPE a [<!ENTITY l0 \"ha\">";
  for (int i = 1; i < 30; ++i) {
    std::string before = "&l" + std::to_string(i - 1) + ";";
    laughs += "<!ENTITY l" + std::to_string(i) + " \"" + before + before + before + "\">";
  }
  std::optional<std::string> text = XmlText(laughs + "]><a>x&l29;</a>");
  EXPECT_TRUE(!text || text->size() < 100);
  text = XmlText("<!DOCTYPE a [<!ENTITY f SYSTEM \"file:///etc/passwd\">]><a>x&f;</a>");
  EXPECT_TRUE(!text || text->find("root") == std::string::npos);
}

class Archives : public testing::Test {
 protected:
  Archives() {
    char name[] = "/tmp/archive-XXXXXX";
    path_ = name;
    close(mkstemp(path_.data()));
  }
  ~Archives() override { std::filesystem::remove(path_); }

  const std::string& Write(const std::map<std::string, std::string>& files) {
    int error = 0;
    zip_t* archive = zip_open(path_.c_str(), ZIP_TRUNCATE, &error);
    for (const auto& [name, content] : files) {
      zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
      EXPECT_GE(zip_file_add(archive, name.c_str(), source, ZIP_FL_OVERWRITE), 0);
    }
    EXPECT_EQ(zip_close(archive), 0);
    return path_;
  }

  std::string path_;
};

TEST_F(Archives, Word) {
  EXPECT_EQ(WordText(Write({{"word/document.xml",
                             "<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>Hello</w:t></w:r>"
                             "<w:r><w:tab/><w:t xml:space='preserve'> world</w:t></w:r></w:p>"
                             "<w:p/><w:p><w:r><w:t>next</w:t></w:r></w:p></w:body></w:document>"},
                            {"word/styles.xml", "<no/>"}})),
            "Hello\t world\nnext");
  EXPECT_EQ(WordText(Write({{"other.xml", "<a/>"}})), std::nullopt);
  EXPECT_EQ(WordText(Write({{"word/document.xml", "<a>"}})), std::nullopt);
  EXPECT_EQ(WordText("/dev/null"), std::nullopt);
}

// Word stores a text box twice: as a drawing and, for its older versions, as VML.
TEST_F(Archives, WordTextBox) {
  EXPECT_EQ(
      WordText(Write(
          {{"word/document.xml",
            "<w:document xmlns:w='w' xmlns:mc='mc'><w:body><w:p><w:r><w:t>before</w:t></w:r><w:r>"
            "<mc:AlternateContent><mc:Choice Requires='wps'><w:p><w:r><w:t>box</w:t></w:r></w:p>"
            "<mc:AlternateContent><mc:Choice Requires='x'/><mc:Fallback><w:t>inner</w:t>"
            "</mc:Fallback></mc:AlternateContent></mc:Choice>"
            "<mc:Choice Requires='wpg'><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice>"
            "<mc:Fallback><w:p><w:r><w:tab/><w:t>box</w:t></w:r></w:p></mc:Fallback>"
            "</mc:AlternateContent></w:r><w:r><w:t>after</w:t></w:r></w:p>"
            "<w:p><w:r><mc:AlternateContent><mc:Fallback><w:t>only</w:t></mc:Fallback>"
            "</mc:AlternateContent></w:r></w:p></w:body></w:document>"}})),
      "beforebox\ninnerafter\nonly");
}

TEST_F(Archives, Presentation) {
  auto slide = [](const std::string& text) {
    return "<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:r><a:t>" + text + "</a:t></a:r></a:p></p:sld>";
  };
  EXPECT_EQ(PresentationText(Write({{"ppt/slides/slide10.xml", slide("ten")},
                                    {"ppt/slides/slide2.xml", slide("two")},
                                    {"ppt/slides/_rels/slide2.xml.rels", "<a/>"}})),
            "two\nten");
}

TEST_F(Archives, Sheet) {
  EXPECT_EQ(
      SheetText(Write({{"xl/sharedStrings.xml",
                        "<sst><si><t>name</t></si><si><r><t>a</t></r><r><t>b</t></r></si></sst>"},
                       {"xl/worksheets/sheet1.xml",
                        "<worksheet><sheetData><row><c t='s'><v>0</v></c><c><v>1.5</v></c></row>"
                        "<row><c t='s'><v>1</v></c><c t='inlineStr'><is><t>in</t></is></c>"
                        "<c t='s'><v>99</v></c></row></sheetData></worksheet>"}})),
      "name\t1.5\nab\tin");
}

TEST_F(Archives, SheetWithPhoneticText) {
  EXPECT_EQ(SheetText(Write({{"xl/sharedStrings.xml",
                              "<sst><si><t>Tokyo</t><rPh sb='0' eb='2'><t>to-kyo</t></rPh>"
                              "<phoneticPr fontId='1'/></si></sst>"},
                             {"xl/worksheets/sheet1.xml",
                              "<worksheet><sheetData><row><c t='s'><v>0</v></c><c t='inlineStr'>"
                              "<is><t>Kyoto</t><rPh sb='0' eb='2'><t>kyo-to</t></rPh></is></c>"
                              "</row></sheetData></worksheet>"}})),
            "Tokyo\tKyoto");
}

TEST_F(Archives, OpenDocument) {
  EXPECT_EQ(
      OpenDocumentText(Write(
          {{"content.xml",
            "<o xmlns:text='t' xmlns:o='o'><text:h>Head</text:h><text:p>a<text:s "
            "text:c='2'/>b<text:tab/><text:span>c</text:span></text:p><o:meta>no</o:meta></o>"}})),
      "Head\na  b\tc");
}

TEST_F(Archives, AreNotUnpackedWithoutEnd) {
  EXPECT_EQ(WordText(Write(
                {{"word/document.xml", "<a>" + std::string(kInflatedBytesMax + 1, ' ') + "</a>"}})),
            std::nullopt);
}

}  // namespace
}  // namespace agent_graph::extract
