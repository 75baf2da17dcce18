// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.HeadingAnchorExtension;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

/**
 * Makes the site: {@code java Site.java ROOT OUT}. Begins with the README and follows the links of
 * its pages: a Markdown file becomes a page at its own path, a picture is copied, any other file or
 * folder is shown as text. So links work as they do in the repository. The Javadoc is copied to
 * {@code api}, and names of its classes in the guides link to it.
 */
public final class Site {
  private static final List<String> MENU =
      List.of(
          "README.md", "torchfeed",
          "java-api/README.md", "Using it",
          "java-api/FROM_PYTORCH.md", "From PyTorch",
          "java-api/DISTRIBUTED.md", "Distributed",
          "examples/benchmarks/README.md", "Benchmarks",
          "java-api/CHANGELOG.md", "Changes");

  private static final Pattern LINK = Pattern.compile("(href|src)=\"([^\":]+)\"");
  private static final Pattern CODE =
      Pattern.compile("(<a [^>]*>)?<code>([a-z]\\w*(?:\\.[a-z]\\w*)*\\.[A-Z]\\w*)(#\\w+)?</code>");
  private static final Pattern HEADING = Pattern.compile("<h([1-6]) id=\"([^\"]*)\">(.*?)</h\\1>");
  private static final Pattern TITLE = Pattern.compile("<h1[^>]*>([^<]*)</h1>");
  private static final Pattern TAG = Pattern.compile("<[^>]*>");

  private final List<Extension> extensions =
      List.of(TablesExtension.create(), HeadingAnchorExtension.create());
  private final Parser parser = Parser.builder().extensions(extensions).build();
  private final HtmlRenderer renderer = HtmlRenderer.builder().extensions(extensions).build();

  private final Path root;
  private final Path out;
  private final Path javadoc;
  private final Deque<Path> waiting = new ArrayDeque<>();
  private final Set<Path> met = new HashSet<>();
  private final List<String> sections = new ArrayList<>();

  private Site(Path root, Path out) {
    this.root = root;
    this.out = out;
    this.javadoc = root.resolve("java-api/target/reports/apidocs");
  }

  public static void main(String[] arguments) throws IOException {
    Path root = Path.of(arguments[0]).toRealPath();
    Path out = Path.of(arguments[1]).toAbsolutePath().normalize();
    new Site(root, out).make();
    System.out.println("site: " + out.resolve("index.html"));
  }

  private void make() throws IOException {
    if (Files.exists(out)) {
      try (Stream<Path> old = Files.walk(out)) {
        for (Path path : old.sorted((a, b) -> b.compareTo(a)).toList()) {
          Files.delete(path);
        }
      }
    }
    copy(javadoc, out.resolve("api"));
    copy(root.resolve(".site/files"), out.resolve("site"));
    for (int i = 0; i < MENU.size(); i += 2) {
      target(root.resolve(MENU.get(i)));
    }
    while (!waiting.isEmpty()) {
      write(waiting.remove());
    }
    Files.writeString(
        out.resolve("site/sections.js"),
        "const sections = [\n" + String.join(",\n", sections) + "];\n");
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        Path copy = to.resolve(from.relativize(file).toString());
        Files.createDirectories(copy.getParent());
        Files.copy(file, copy);
      }
    }
  }

  /** Returns the page of a file or folder of the repository; it is written later. */
  private Path target(Path source) {
    if (met.add(source)) {
      waiting.add(source);
    }
    String name = root.relativize(source).toString();
    if (name.equals("README.md")) {
      return out.resolve("index.html");
    }
    if (name.endsWith(".md")) {
      return out.resolve(name.replaceAll("md$", "html"));
    }
    return out.resolve(isPicture(source) ? name : name + ".html");
  }

  private static boolean isPicture(Path source) {
    return source.toString().matches(".*\\.(png|svg|jpg)");
  }

  private void write(Path source) throws IOException {
    Path target = target(source);
    Files.createDirectories(target.getParent());
    if (isPicture(source)) {
      Files.copy(source, target);
    } else if (source.toString().endsWith(".md")) {
      String html = renderer.render(parser.parse(Files.readString(source)));
      String body = linkClasses(linkFiles(html, source, target), target);
      index(body, target);
      page(target, source, body);
    } else {
      page(target, source, Files.isDirectory(source) ? listing(source, target) : text(source));
    }
  }

  private static String text(Path source) throws IOException {
    return "<pre><code>" + escaped(Files.readString(source)) + "</code></pre>";
  }

  private String listing(Path folder, Path target) throws IOException {
    StringBuilder list = new StringBuilder("<h1>" + root.relativize(folder) + "</h1>\n<ul>\n");
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
        if (!file.toString().matches(".*/(target|build|\\.gradle)/.*")) {
          list.append(
              "<li>" + link(target, target(file), folder.relativize(file).toString()) + "</li>\n");
        }
      }
    }
    return list.append("</ul>\n").toString();
  }

  /** Lets links point to the pages of files. Missing files stay, for .ci/check-links to find. */
  private String linkFiles(String html, Path source, Path target) {
    return LINK.matcher(html)
        .replaceAll(
            link -> {
              URI uri = URI.create(link.group(2));
              Path file = source.getParent().resolve(uri.getPath()).normalize();
              if (uri.getPath().isEmpty() || !Files.exists(file) || !file.startsWith(root)) {
                return link.group();
              }
              String fragment = uri.getFragment() == null ? "" : "#" + uri.getFragment();
              Path page = javadocOf(file).orElseGet(() -> target(file));
              return "%s=\"%s\"".formatted(link.group(1), relative(target, page) + fragment);
            });
  }

  /** Links names of classes like {@code data.DataLoader} to the Javadoc. */
  private String linkClasses(String html, Path target) {
    return CODE.matcher(html)
        .replaceAll(
            code ->
                Optional.of(code.group(2))
                    .filter(name -> code.group(1) == null)
                    .flatMap(this::javadocOf)
                    .map(page -> link(target, page, code.group()))
                    .orElse(code.group()));
  }

  private Optional<Path> javadocOf(String name) {
    Path packages = out.resolve("api/io.torchfeed/io/torchfeed");
    String inPackages = name.replace("io.torchfeed.", "").replace('.', '/');
    return Optional.of(packages.resolve(inPackages + ".html")).filter(Files::exists);
  }

  private Optional<Path> javadocOf(Path source) {
    Path sources = root.resolve("java-api/src/main/java/io/torchfeed");
    if (!source.startsWith(sources)) {
      return Optional.empty();
    }
    String name = sources.relativize(source).toString().replaceAll("\\.java$", "");
    return javadocOf(name.replace("package-info", "package-summary"));
  }

  /** Adds the sections of a page to those that the search knows. */
  private void index(String body, Path target) {
    List<MatchResult> headings = HEADING.matcher(body).results().toList();
    String title = headings.isEmpty() ? "" : plain(headings.get(0).group(3));
    for (int i = 0; i < headings.size(); i++) {
      MatchResult heading = headings.get(i);
      int end = i + 1 < headings.size() ? headings.get(i + 1).start() : body.length();
      sections.add(
          "{page: %s, title: %s, url: %s, text: %s}"
              .formatted(
                  quoted(title),
                  quoted(plain(heading.group(3))),
                  quoted(out.relativize(target) + "#" + heading.group(2)),
                  quoted(plain(body.substring(heading.end(), end)))));
    }
  }

  private void page(Path target, Path source, String body) throws IOException {
    Matcher heading = TITLE.matcher(body);
    StringBuilder menu = new StringBuilder();
    for (int i = 0; i < MENU.size(); i += 2) {
      menu.append(link(target, target(root.resolve(MENU.get(i))), MENU.get(i + 1))).append('\n');
    }
    String page =
        Files.readString(root.resolve(".site/page.html"))
            .replace("{home}", relative(target, out.resolve("site")).replaceAll("site$", ""))
            .replace(
                "{title}", heading.find() ? heading.group(1) : root.relativize(source).toString())
            .replace("{menu}", menu)
            .replace("{body}", body);
    Files.writeString(target, page);
  }

  private static String link(Path from, Path to, String html) {
    return "<a href=\"%s\">%s</a>".formatted(relative(from, to), html);
  }

  private static String relative(Path from, Path to) {
    return from.getParent().relativize(to).toString();
  }

  private static String plain(String html) {
    return TAG.matcher(html)
        .replaceAll(" ")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
        .replaceAll("\\s+", " ")
        .strip();
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }

  private static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}
