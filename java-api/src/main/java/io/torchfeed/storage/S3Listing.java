// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayInputStream;
import java.net.URLDecoder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.jspecify.annotations.Nullable;

/**
 * A page of the answer to ListObjectsV2.
 *
 * @param objects in the order of their keys
 * @param next the token of the next page; null if this is the last one
 */
record S3Listing(List<S3Object> objects, @Nullable String next) {
  private static final String ROOT = "ListBucketResult";

  /**
   * Parses a page. Nothing outside of it is read, and no entity is resolved.
   *
   * @throws XMLStreamException if it is no such page
   */
  static S3Listing parse(byte[] xml) throws XMLStreamException {
    XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    factory.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
    factory.setProperty(XMLInputFactory.IS_COALESCING, true);
    XMLStreamReader reader = factory.createXMLStreamReader(new ByteArrayInputStream(xml));
    List<Map<String, String>> contents = new ArrayList<>();
    Map<String, String> page = new HashMap<>();
    List<String> open = new ArrayList<>();
    StringBuilder text = new StringBuilder();
    while (reader.hasNext()) {
      switch (reader.next()) {
        case XMLStreamConstants.START_ELEMENT -> {
          open.add(reader.getLocalName());
          text.setLength(0);
          if (!open.get(0).equals(ROOT)) {
            throw new XMLStreamException("the first element must be " + ROOT);
          } else if (open.size() == 2 && open.get(1).equals("Contents")) {
            contents.add(new HashMap<>());
          }
        }
        case XMLStreamConstants.CHARACTERS -> text.append(reader.getText());
        case XMLStreamConstants.END_ELEMENT -> {
          String name = open.remove(open.size() - 1);
          if (open.size() == 1) {
            page.put(name, text.toString());
          } else if (open.size() == 2 && open.get(1).equals("Contents")) {
            contents.get(contents.size() - 1).put(name, text.toString());
          }
        }
        default -> {} // comments and instructions
      }
    }
    boolean isEncoded = "url".equals(page.get("EncodingType"));
    List<S3Object> objects = new ArrayList<>();
    for (Map<String, String> each : contents) {
      objects.add(object(each, isEncoded));
    }
    boolean isLast = !"true".equals(page.get("IsTruncated"));
    return new S3Listing(objects, isLast ? null : field(page, "NextContinuationToken"));
  }

  private static S3Object object(Map<String, String> fields, boolean isEncoded)
      throws XMLStreamException {
    String key = field(fields, "Key");
    try {
      return new S3Object(
          isEncoded ? URLDecoder.decode(key, UTF_8) : key,
          Long.parseLong(field(fields, "Size").strip()),
          fields.getOrDefault("ETag", ""));
    } catch (IllegalArgumentException e) {
      throw new XMLStreamException("an object must have a key and a size", e);
    }
  }

  private static String field(Map<String, String> fields, String name) throws XMLStreamException {
    String value = fields.get(name);
    if (value == null) {
      throw new XMLStreamException("it must have a " + name);
    }
    return value;
  }
}
