// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.trace.analysis.SyntheticRun;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NamedNodeMap;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** Tests the page of a run by its elements, and in a browser where one is installed. */
class RunReportTest {
  private static final Path BROWSER = Path.of("/usr/bin/chromium");
  private static final String HOSTILE = "<script>alert(1)</script>\"' onload=x &amp; ]]>";

  private final Path folder;

  RunReportTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static void write(Path file, String... lines) throws IOException {
    Files.createDirectories(requireNonNull(file.getParent()));
    Files.write(file, List.of(lines));
  }

  private static String row(long step, String tag, double value) {
    return "%d,\"%s\",%s,1790000000.000".formatted(step, tag.replace("\"", "\"\""), value);
  }

  /** Writes a run of two ranks; one was lost after 60 steps. */
  private Path run(String name) throws IOException {
    Path run = folder.resolve(name);
    for (int rank = 0; rank < 2; rank++) {
      List<String> rows = new ArrayList<>(List.of("step,tag,value,seconds"));
      for (int step = 10; step <= (rank == 0 ? 5000 : 60); step += 10) {
        rows.add(row(step, "train/loss", 2.0 / step));
        rows.add(row(step, "train/seconds per step", step == 40 ? 0.75 : 0.005));
        rows.add(row(step, "train/wait share", 0.25));
        rows.add(row(step, "train/reduction wait share", rank == 0 ? 0.5 : 0.125));
        rows.add(row(step, "train/samples per second", 1000 + step));
      }
      rows.add(row(10, HOSTILE, 1));
      rows.add(row(20, HOSTILE, Double.NaN));
      rows.add("50,\"train/lo"); // as a process leaves it that is killed
      write(
          run.resolve(rank == 0 ? "scalars.csv" : "rank-1/scalars.csv"),
          rows.toArray(String[]::new));
      write(
          run.resolve(rank == 0 ? "run.jsonl" : "rank-1/run.jsonl"),
          "{\"version\":1,\"event\":\"begin\",\"rank\":%d,\"ranks\":2,\"step\":0,\"host\":\"<i>h\"}"
              .formatted(rank),
          "{\"version\":1,\"event\":\"be");
    }
    write(run.resolve("metrics.csv"), "epoch,loss," + HOSTILE, "1,0.5,2", "2,0.25,1");
    for (int number = 1; number <= 2; number++) {
      write(
          run.resolve("generations/generation-1.%d/generation.json".formatted(number)),
          "{\"version\":1,\"run\":1,\"number\":%d,\"ranks\":%d,\"origin\":\"START\",\"step\":%d,\"epoch\":0,\"samples\":0,\"began\":\"2026-01-02T03:04:05.678Z\"}"
              .formatted(number, 3 - number, 60 * (number - 1)));
    }
    SyntheticRun.main(new String[] {run.resolve("trace").toString(), "2", "30"});
    return run;
  }

  private static Document parsed(String html) throws Exception {
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    factory.setFeature("http://xml.org/sax/features/external-general-entities", false);
    return factory.newDocumentBuilder().parse(new InputSource(new StringReader(html)));
  }

  private static List<String> texts(Document page, String name) {
    NodeList all = page.getElementsByTagName(name);
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < all.getLength(); i++) {
      texts.add(all.item(i).getTextContent());
    }
    return texts;
  }

  @Test
  void thePageHasAllOfARun() throws Exception {
    Document page = parsed(RunReport.read(run("first")).html());
    assertThat(texts(page, "h1")).containsExactly("Run first");
    assertThat(texts(page, "h2"))
        .containsExactly(
            "Curves over steps",
            "Balance of the ranks",
            "Slowest steps",
            "Epochs, from metrics.csv",
            "Changes of the ranks",
            "Traces in trace",
            "Machines and versions",
            "Sources");
    assertThat(texts(page, "figcaption"))
        .contains(
            "from 0.2 at step 10 to 0.0004 at step 5,000; lowest 0.0004 at step 5,000, highest"
                + " 0.2 at step 10",
            "1 at step 10; 1 values are not finite and not shown",
            "from 0.5 at epoch 1 to 0.25 at epoch 2; lowest 0.25 at epoch 2, highest 0.5 at epoch 1");
    assertThat(texts(page, "td"))
        .containsSequence("rank 0", "6.49 ms", "25.0 %", "50.0 %")
        .containsSequence("31 to 40", "750 ms", "25.0 %", "50.0 %")
        .containsSequence("1.2", "60", "1", "1", "start", "2026-01-02T03:04:05Z")
        .contains("without a word: killed, or still at work");
    assertThat(texts(page, "p"))
        .contains("Ranks came or went after 60 steps; dashed lines in the curves show it.")
        .contains("2 rows of scalars are incomplete and left out.");
    assertThat(texts(page, "svg")).filteredOn(text -> text.contains("changed after 60")).hasSize(5);
  }

  @Test
  void theNumberOfRanksHoldsUntilItsNextPoint() throws Exception {
    Path run = folder.resolve("held");
    String head = "step,tag,value,seconds";
    write(run.resolve("scalars.csv"), head, row(1, "train/ranks", 3), row(101, "train/ranks", 2));
    Document page = parsed(RunReport.read(run).html());
    Element line = (Element) page.getElementsByTagName("polyline").item(0);
    String[] points = line.getAttribute("points").split(" ", -1);
    assertThat(points).hasSize(3);
    assertThat(points[1]).startsWith(points[2].split(",", -1)[0] + ",");
    assertThat(points[1]).endsWith("," + points[0].split(",", -1)[1]);
  }

  @Test
  void tracesShowWhoWaitedForWhom() throws Exception {
    Path run = run("traced");
    Document page = parsed(RunReport.read(run).html());
    assertThat(texts(page, "td"))
        .containsSequence("1", "host0/101")
        .anyMatch(text -> text.matches("15[0-2](\\.\\d)? ms"))
        .anyMatch(text -> text.matches("50\\.\\d+ ms before backward in step \\d*9"));
    assertThat(texts(page, "h3"))
        .containsSequence("Step 9: 54.9 ms", "Step 19: 54.9 ms", "Step 29: 54.9 ms");
    assertThat(texts(page, "figcaption"))
        .anyMatch(
            text ->
                text.matches("Ranks waited for others up to 50.* ms; rank 1 waited least, 0.* ms"));
    assertThat(texts(page, "p")).anyMatch(text -> text.startsWith("Processes: 2, hosts: 1; all"));
    Files.write(run.resolve("trace/trace-host0-100.tftrace"), new byte[] {1});
    assertThat(texts(parsed(RunReport.read(run).html()), "p"))
        .anyMatch(text -> text.matches("They cannot be merged: .* is no dump of a trace; .*"));
  }

  @Test
  void tracesShowTheCallThatRanksHaveNotEntered() throws Exception {
    Path run = folder.resolve("open");
    SyntheticRun.main(new String[] {run.toString(), "20", "30", "open"});
    Document page = parsed(RunReport.read(run).html());
    assertThat(texts(page, "h2")).contains("Traces");
    assertThat(texts(page, "p"))
        .anyMatch(
            text ->
                text.matches(
                    "ranks 1, 2, .* never entered all-reduce, call 30 of a group of 20 ranks;"
                        + " rank 0 \\(host0/100\\) is in all-reduce at Main.sum.*;"
                        + " rank 1 \\(host0/101\\) has not entered it: its last call is 29, .*"));
    assertThat(texts(page, "figcaption"))
        .hasSize(4)
        .allMatch(text -> text.endsWith("; 4 more ranks are not shown"));
  }

  @Test
  void eachPictureHasATextAndNothingIsLoaded() throws Exception {
    Document page = parsed(RunReport.read(run("second")).html());
    NodeList all = page.getElementsByTagName("*");
    for (int i = 0; i < all.getLength(); i++) {
      Element each = (Element) all.item(i);
      assertThat(each.getTagName()).isNotIn("script", "img", "link", "iframe", "object", "a");
      NamedNodeMap attributes = each.getAttributes();
      for (int j = 0; j < attributes.getLength(); j++) {
        assertThat(attributes.item(j).getNodeName()).doesNotStartWith("on").isNotIn("src", "href");
      }
      if (each.getTagName().equals("figure")) {
        assertThat(each.getElementsByTagName("table").getLength()).isEqualTo(1);
      }
      if (each.getTagName().equals("svg")) {
        assertThat(each.getAttribute("aria-label") + each.getAttribute("aria-hidden")).isNotEmpty();
      }
    }
    assertThat(texts(page, "style")).singleElement().asString().doesNotContain("url(", "@import");
  }

  @Test
  void namesOfFilesAndTagsAreOnlyText() throws Exception {
    String name = "<img src=x onerror=alert(1)>";
    Document page = parsed(RunReport.read(run(name)).html());
    assertThat(texts(page, "h1")).containsExactly("Run " + name);
    assertThat(texts(page, "h3")).contains(HOSTILE);
    assertThat(texts(page, "td")).contains("<i>h");
  }

  @Test
  void aFolderWithoutARunIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RunReport.read(folder))
        .withMessageEndingWith(" has no scalars.csv, metrics.csv, trace or generation of a run");
  }

  @Test
  void aBrowserShowsItLightAndDark() throws Exception {
    assumeTrue(Files.isExecutable(BROWSER), "skipped: there is no browser at " + BROWSER);
    Path page = folder.resolve("page.html");
    Files.writeString(page, RunReport.read(run("third")).html());
    assertThat(brightness(page, "light", "preferredColorScheme=1")).isGreaterThan(0.8);
    assertThat(brightness(page, "dark", "preferredColorScheme=0")).isLessThan(0.3);
  }

  /** A frame is as narrow as a phone, which the window of a browser cannot be. */
  @Test
  void aPhoneShowsItWithoutScrollingSideways() throws Exception {
    assumeTrue(Files.isExecutable(BROWSER), "skipped: there is no browser at " + BROWSER);
    Files.writeString(folder.resolve("page.html"), RunReport.read(run("fourth")).html());
    Path frame = folder.resolve("frame.html");
    write(
        frame,
        "<title>not loaded</title>",
        "<iframe id='f' src='page.html' style='width:390px;height:800px;border:0'></iframe>",
        "<script>onload = () => {",
        "  const page = document.getElementById('f').contentDocument.documentElement;",
        "  document.title = 'width ' + page.scrollWidth + ' of ' + page.clientWidth;",
        "};</script>");
    String dom = browse("phone", frame, "--allow-file-access-from-files", "--dump-dom");
    assertThat(dom.replaceAll("(?s).*<title>(.*)</title>.*", "$1")).matches("width (\\d+) of \\1");
  }

  /** Runs the browser on a page; returns its output. */
  private String browse(String name, Path page, String... options) throws Exception {
    Path log = folder.resolve(name + ".log");
    List<String> command = new ArrayList<>(List.of(BROWSER.toString(), "--headless"));
    command.addAll(List.of("--no-sandbox", "--disable-gpu"));
    command.add("--user-data-dir=" + folder.resolve("browser-" + name));
    command.addAll(List.of(options));
    command.add(page.toUri().toString());
    Process browser =
        new ProcessBuilder(command)
            .redirectError(folder.resolve(name + ".err").toFile())
            .redirectOutput(log.toFile())
            .start();
    try {
      assertThat(browser.waitFor(100, TimeUnit.SECONDS)).isTrue();
    } finally {
      browser.destroyForcibly();
    }
    return Files.readString(log);
  }

  /** Returns the mean brightness of the page, in [0, 1]. */
  private double brightness(Path page, String name, String setting) throws Exception {
    Path png = folder.resolve(name + ".png");
    browse(
        name, page, "--blink-settings=" + setting, "--window-size=500,900", "--screenshot=" + png);
    assertThat(png).exists();
    BufferedImage image = ImageIO.read(png.toFile());
    long sum = 0;
    for (int pixel :
        image.getRGB(0, 0, image.getWidth(), image.getHeight(), null, 0, image.getWidth())) {
      sum += (pixel >> 8) & 0xFF; // green
    }
    return sum / 255.0 / image.getWidth() / image.getHeight();
  }
}
