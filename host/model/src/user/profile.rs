//! The claims about a user that applications may receive (OpenID Connect Core section 5.1).

use serde::{Deserialize, Serialize};

/// The claims of OpenID Connect Core 1.0 section 5.1 that the server stores about a user, under their own names.
///
/// `preferred_username`, `email` and `updated_at` follow from the user itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are the claims of the OpenID Connect specification"
)]
pub struct Profile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub middle_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nickname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gender: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub birthdate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zoneinfo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
    pub phone_number_verified: bool,
    #[serde(skip_serializing_if = "Address::is_empty")]
    pub address: Address,
    pub email_verified: bool,
}

/// The postal address: the `address` claim (OpenID Connect Core 1.0 section 5.1.1). `formatted` and `street_address`
/// may have several lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are the members of the OpenID Connect specification"
)]
pub struct Address {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formatted: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locality: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}

impl Address {
    /// Whether all members are empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the members by their names in the claim.
    pub fn members(&self) -> [(&'static str, Option<&String>); 6] {
        [
            ("formatted", self.formatted.as_ref()),
            ("street_address", self.street_address.as_ref()),
            ("locality", self.locality.as_ref()),
            ("region", self.region.as_ref()),
            ("postal_code", self.postal_code.as_ref()),
            ("country", self.country.as_ref()),
        ]
    }

    /// Returns the address in lines: `formatted`, or else lines composed from the members.
    pub fn in_lines(&self) -> Vec<String> {
        if let Some(formatted) = &self.formatted {
            return formatted.lines().map(str::to_owned).collect();
        }
        let town = [&self.postal_code, &self.locality]
            .into_iter()
            .flatten()
            .map(String::as_str);
        let town = town.collect::<Vec<_>>().join(" ");
        let street = self
            .street_address
            .iter()
            .flat_map(|street| street.lines())
            .map(str::to_owned);
        let rest = [Some(town), self.region.clone(), self.country.clone()]
            .into_iter()
            .flatten();
        street.chain(rest).filter(|line| !line.is_empty()).collect()
    }
}

impl Profile {
    /// Returns the claims that are texts by their names, in the order of the specification.
    pub fn texts(&self) -> [(&'static str, Option<&String>); 13] {
        [
            ("name", self.name.as_ref()),
            ("given_name", self.given_name.as_ref()),
            ("family_name", self.family_name.as_ref()),
            ("middle_name", self.middle_name.as_ref()),
            ("nickname", self.nickname.as_ref()),
            ("picture", self.picture.as_ref()),
            ("profile", self.profile.as_ref()),
            ("website", self.website.as_ref()),
            ("gender", self.gender.as_ref()),
            ("birthdate", self.birthdate.as_ref()),
            ("zoneinfo", self.zoneinfo.as_ref()),
            ("locale", self.locale.as_ref()),
            ("phone_number", self.phone_number.as_ref()),
        ]
    }

    /// Returns the first field with an invalid value for its claim, and the expected value.
    pub fn unfit_field(&self) -> Option<(&'static str, &'static str)> {
        const TEXT: &str = "expected at most 1,024 characters, no control characters";
        let is_text =
            |text: &str| text.chars().count() <= 1024 && !text.chars().any(char::is_control);
        let unfit = self.texts().into_iter().find_map(|(name, text)| {
            let text = text?;
            let unfit = if is_text(text) {
                unfit_claim(name, text)?
            } else {
                TEXT
            };
            Some((name, unfit))
        });
        unfit.or_else(|| {
            let mut members = self.address.members().into_iter();
            let fits = |name: &str, text: &str| match name {
                "formatted" | "street_address" => {
                    is_text(&text.replace("\r\n", "").replace('\n', ""))
                }
                _ => is_text(text),
            };
            members
                .find(|(name, text)| text.is_some_and(|text| !fits(name, text)))
                .map(|_| ("address", TEXT))
        })
    }
}

/// Returns the expected value if this text is invalid for a claim with a specific format.
fn unfit_claim(name: &str, text: &str) -> Option<&'static str> {
    let (fits, expected) = match name {
        "picture" | "profile" | "website" => (
            is_web_address(text),
            "expected an address such as https://www.example.org/ada",
        ),
        "birthdate" => (
            is_birthdate(text),
            "expected a date such as 1815-12-10, 0000-12-10 without the year, or 1815",
        ),
        "zoneinfo" => (is_zone(text), "expected a time zone such as Europe/London"),
        "locale" => (is_locale(text), "expected a language such as en or en-GB"),
        "phone_number" => (
            is_phone_number(text),
            "expected a telephone number such as +49 30 123456",
        ),
        _ => (true, ""),
    };
    (!fits).then_some(expected)
}

fn is_web_address(text: &str) -> bool {
    url::Url::parse(text)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Whether the text is a date, a date without its year, or a year (OpenID Connect Core 1.0 section 5.1).
fn is_birthdate(text: &str) -> bool {
    let is_year = |text: &str| text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    // A leap year replaces the omitted one, so that February 29 is valid.
    let whole = text
        .strip_prefix("0000-")
        .map_or_else(|| text.to_owned(), |day| format!("2000-{day}"));
    is_year(text) || whole.len() == 10 && whole.parse::<jiff::civil::Date>().is_ok()
}

/// Whether the text has the form of a name in the time zone database. The names themselves change from year to year.
fn is_zone(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+'))
    };
    text.split('/').all(is_part) && text.len() <= 64
}

/// Whether the text has the form of a language tag (RFC 5646 section 2.1). Underscores are accepted, because many
/// programs write them.
fn is_locale(text: &str) -> bool {
    let is_subtag = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let mut subtags = text.split(['-', '_']);
    let primary = subtags.next().unwrap_or_default();
    let is_primary =
        (2..=8).contains(&primary.len()) && primary.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_primary && subtags.all(is_subtag) && text.len() <= 64
}

/// Whether the text is a telephone number: digits in the usual notation, with an extension as in RFC 3966.
fn is_phone_number(text: &str) -> bool {
    let (number, extension) = text.split_once(";ext=").unwrap_or((text, "0"));
    let digits = number.strip_prefix('+').unwrap_or(number);
    let is_written =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'.' | b'(' | b')' | b'/');
    digits.bytes().all(is_written)
        && (3..=20).contains(&digits.bytes().filter(u8::is_ascii_digit).count())
        && !extension.is_empty()
        && extension.bytes().all(|byte| byte.is_ascii_digit())
}
