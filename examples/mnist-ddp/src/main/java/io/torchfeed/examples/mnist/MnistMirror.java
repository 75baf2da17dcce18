// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import java.io.IOException;
import java.io.InputStream;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.zip.GZIPInputStream;

/**
 * A public mirror of the data set: one gzip file a part, over HTTP.
 *
 * @param base the address of the folder, ends with a slash
 */
record MnistMirror(String base) implements MnistFolder.Source {
  private static final Duration CONNECT = Duration.ofSeconds(4);
  private static final Duration RESPONSE = Duration.ofSeconds(20);

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
      try {
        HttpResponse<InputStream> response =
            client.send(request, HttpResponse.BodyHandlers.ofInputStream());
        try (InputStream body = response.body()) {
          if (response.statusCode() != 200) {
            throw new IOException(address + " answered with status " + response.statusCode());
          }
          CacheEntry.store(file, new GZIPInputStream(body), folder);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted while fetching " + address, e);
      }
    }
  }
}
