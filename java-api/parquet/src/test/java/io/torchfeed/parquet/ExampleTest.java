// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs the example as its readers do, with a store on the loopback in place of S3. */
@Timeout(300)
class ExampleTest {
  private static final int MAX_LINES = 60;
  private static final String PROGRAM = "io.torchfeed.examples.parquet.TrainFromS3";
  private static final String SECRET = "the-secret-key";
  private static final List<String> KEYS = List.of("part-0.parquet", "part-1.parquet");

  @Test
  void theProgramFitsOnAScreen() throws IOException {
    Path sources = Path.of("../../examples/parquet/src/main/java");
    Path program = sources.resolve(PROGRAM.replace('.', '/') + ".java");
    assertThat(Files.readAllLines(program)).hasSizeLessThanOrEqualTo(MAX_LINES);
  }

  @Test
  void aNetIsTrainedOnTheFilesOfABucket() throws Exception {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", ExampleTest::answer);
    server.start();
    try {
      String output = run("http://127.0.0.1:%d".formatted(server.getAddress().getPort()));
      List<Double> losses =
          output
              .lines()
              .filter(line -> line.startsWith("epoch "))
              .map(line -> Double.valueOf(line.substring(line.lastIndexOf(' '))))
              .toList();
      assertThat(losses).as(output).hasSize(8);
      assertThat(losses.get(7)).isLessThan(losses.get(0) / 2);
      assertThat(output).doesNotContain(SECRET);
    } finally {
      server.stop(0);
    }
  }

  private static String run(String endpoint) throws IOException, InterruptedException {
    ProcessBuilder builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xmx256m",
            "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
            PROGRAM,
            "training-data",
            "flowers/");
    builder
        .environment()
        .putAll(
            Map.of(
                "AWS_ENDPOINT_URL",
                endpoint,
                "AWS_ACCESS_KEY_ID",
                "a-key",
                "AWS_SECRET_ACCESS_KEY",
                SECRET));
    builder.environment().keySet().removeAll(List.of("AWS_ENDPOINT_URL_S3", "AWS_PROFILE"));
    Process process = builder.redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    return output;
  }

  private static void answer(HttpExchange exchange) throws IOException {
    String signature = exchange.getRequestHeaders().getFirst("Authorization");
    String path = exchange.getRequestURI().getPath();
    if (signature == null || !signature.startsWith("AWS4-HMAC-SHA256 Credential=a-key/")) {
      send(exchange, 403, new byte[0], 0, 0);
    } else if (path.equals("/training-data/")) {
      StringBuilder page = new StringBuilder("<ListBucketResult>");
      for (String key : KEYS) {
        page.append("<Contents><Key>flowers/%s</Key>".formatted(key));
        page.append("<Size>%d</Size></Contents>".formatted(Files.size(file(key))));
      }
      byte[] xml = page.append("</ListBucketResult>").toString().getBytes(UTF_8);
      send(exchange, 200, xml, 0, xml.length);
    } else {
      byte[] content = Files.readAllBytes(file(path.replace("/training-data/flowers/", "")));
      String range = String.valueOf(exchange.getRequestHeaders().getFirst("Range"));
      String[] ends = range.replace("bytes=", "").split("-", -1);
      int from = Integer.parseInt(ends[0]);
      int to = Math.min(Integer.parseInt(ends[1]) + 1, content.length);
      exchange
          .getResponseHeaders()
          .add("Content-Range", "bytes %d-%d/%d".formatted(from, to - 1, content.length));
      exchange.getResponseHeaders().add("ETag", "\"%s\"".formatted(content.length));
      send(exchange, 206, content, from, to);
    }
  }

  private static Path file(String key) {
    return Golden.file("flowers/" + key);
  }

  private static void send(HttpExchange exchange, int status, byte[] content, int from, int to)
      throws IOException {
    exchange.sendResponseHeaders(status, to > from ? to - from : -1);
    try (OutputStream body = exchange.getResponseBody()) {
      body.write(content, from, to - from);
    }
  }
}
