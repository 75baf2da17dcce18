// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common.mnist;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.zip.GZIPInputStream;

/**
 * A public mirror of the data set over HTTP, with one gzip file per MNIST file.
 *
 * @param base the address of the folder, ending with a slash
 */
record MnistMirror(String base) implements MnistFolder.Source {
  private static final Duration CONNECT = Duration.ofSeconds(4);
  private static final Duration RESPONSE = Duration.ofSeconds(20);
  private static final Duration TRANSFER = Duration.ofMinutes(3);

  @Override
  public String name() {
    return base;
  }

  @Override
  public void bring(Set<MnistFile> missing, Path folder) throws IOException {
    HttpClient client =
        HttpClient.newBuilder()
            .connectTimeout(CONNECT)
            .followRedirects(HttpClient.Redirect.NORMAL)
            .proxy(ProxySelector.getDefault())
            .build();
    for (MnistFile file : missing) {
      URI address = URI.create(base + file.fileName() + ".gz");
      HttpRequest request = HttpRequest.newBuilder(address).timeout(RESPONSE).build();
      HttpResponse<byte[]> response = fetch(client, request);
      if (response.statusCode() != 200) {
        throw new IOException(address + " answered with status " + response.statusCode());
      }
      CacheEntry.store(
          file, new GZIPInputStream(new ByteArrayInputStream(response.body())), folder);
    }
  }

  /**
   * Fetches with a limit on the whole transfer; the request's own timeout covers only the headers.
   */
  private static HttpResponse<byte[]> fetch(HttpClient client, HttpRequest request)
      throws IOException {
    var answer = client.sendAsync(request, HttpResponse.BodyHandlers.ofByteArray());
    try {
      return answer.get(TRANSFER.toSeconds(), TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      answer.cancel(true);
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while fetching " + request.uri(), e);
    } catch (TimeoutException e) {
      answer.cancel(true);
      throw new IOException(
          "%s was not complete after %d s".formatted(request.uri(), TRANSFER.toSeconds()), e);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException cause ? cause : new IOException(e.getCause());
    }
  }
}
