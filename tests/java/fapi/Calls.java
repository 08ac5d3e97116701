import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.oauth2.sdk.id.ClientID;
import com.nimbusds.oauth2.sdk.id.Issuer;
import com.nimbusds.oauth2.sdk.token.RefreshToken;
import com.nimbusds.oauth2.sdk.util.JSONObjectUtils;
import com.nimbusds.oauth2.sdk.util.tls.TLSUtils;
import com.nimbusds.oauth2.sdk.util.tls.TLSVersion;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.Map;
import javax.net.ssl.SSLSocketFactory;
import net.minidev.json.JSONObject;

/**
 * Executes calls in lines of JSON, and answers each line with one, as tests/js/fapi.mjs does: see there for the lines.
 */
public final class Calls {
  private final FapiClient client;
  private FapiClient.Begun begun;
  private RefreshToken refreshToken;

  private Calls(FapiClient client) {
    this.client = client;
  }

  public static void main(String[] arguments) throws Exception {
    // Each request has a connection of its own, so that the load balancer of a test reaches each instance in turn.
    System.setProperty("http.keepAlive", "false");
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var calls = new Calls(new FapiClient(settings(JSONObjectUtils.parse(lines.readLine()))));
    for (var line = lines.readLine(); line != null; line = lines.readLine()) {
      System.out.println(calls.answer(JSONObjectUtils.parse(line)).toJSONString());
    }
  }

  private static FapiClient.Settings settings(JSONObject line) throws Exception {
    var key = line.get("key") == null ? null : JWK.parse(JSONObjectUtils.getJSONObject(line, "key"));
    var files = line.get("certificate") == null ? null : JSONObjectUtils.getJSONObject(line, "certificate");
    return new FapiClient.Settings(
        new Issuer(text(line, "issuer")),
        new ClientID(text(line, "clientId")),
        URI.create(text(line, "redirectUri")),
        JWSAlgorithm.parse(text(line, "algorithm")),
        text(line, "authentication"),
        text(line, "binding"),
        text(line, "messages"),
        key,
        files == null ? null : connections(files));
  }

  /** Returns connections with this certificate, to a server with the certificate `ca`. */
  private static SSLSocketFactory connections(JSONObject files) throws Exception {
    var trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    try (var pem = Files.newInputStream(Path.of(text(files, "ca")))) {
      trusted.setCertificateEntry("server", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    var password = text(files, "password").toCharArray();
    var own = KeyStore.getInstance(new File(text(files, "store")), password);
    return TLSUtils.createSSLSocketFactory(trusted, own, password, TLSVersion.TLS_1_3);
  }

  private JSONObject answer(JSONObject call) throws Exception {
    return switch (text(call, "call")) {
      case "authorize" -> {
        begun = client.begin(text(call, "scope"));
        yield new JSONObject(Map.of("url", begun.url().toString()));
      }
      case "sign_in" -> received(client.finish(URI.create(text(call, "url")), begun));
      case "refresh" -> received(client.refresh(refreshToken));
      default -> throw new IllegalArgumentException("no call " + text(call, "call"));
    };
  }

  private JSONObject received(FapiClient.User user) {
    refreshToken = user.tokens().getRefreshToken();
    return new JSONObject(
        Map.of(
            "tokens", user.tokens().toJSONObject(),
            "claims", user.claims().toJSONObject(),
            "userinfo", user.userinfo().toJSONObject()));
  }

  private static String text(JSONObject object, String name) throws Exception {
    return JSONObjectUtils.getString(object, name);
  }
}
