//! The location of IP addresses, from a database of the operator. It is a file in the MaxMind DB format, such as
//! GeoLite2 City or DB-IP City Lite. Its locations are only approximate. They help users recognise their own sign-ins.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use maxminddb::Reader;
use serde::Deserialize;

/// The largest length of a name, in characters.
const LONGEST: usize = 60;

/// The GeoIP database, if there is one.
#[derive(Debug, Default)]
pub struct GeoIp {
    file: Option<PathBuf>,
    read: ArcSwapOption<LoadedDatabase>,
}

/// A loaded database.
struct LoadedDatabase {
    reader: Reader<Vec<u8>>,
    stamp: FileStamp,
}

impl std::fmt::Debug for LoadedDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Read")
            .field("stamp", &self.stamp)
            .finish_non_exhaustive()
    }
}

/// The properties by which a change of the file is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl FileStamp {
    fn read(file: &Path) -> std::io::Result<Self> {
        let about = std::fs::metadata(file)?;
        Ok(Self {
            modified: about.modified().ok(),
            length: about.len(),
        })
    }
}

/// The error of a database that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GeoIpError {
    /// The file cannot be read.
    #[error("geoip.database_file: {} cannot be read: {reason}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: std::io::Error,
    },
    /// The file has another format.
    #[error(
        "geoip.database_file: {} is not a GeoIP database in the MaxMind DB format (.mmdb): {reason}",
        file.display()
    )]
    NoDatabase {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: maxminddb::MaxMindDbError,
    },
}

/// The location of a record. Databases have a name as one text, or in several languages.
#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    city: Option<Name>,
    #[serde(default)]
    country: Option<Name>,
    #[serde(default)]
    country_name: Option<Name>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Names { names: BTreeMap<String, String> },
    Other(serde::de::IgnoredAny),
}

impl Name {
    fn text(&self, language: &str) -> Option<String> {
        let text = match self {
            Self::Text(text) => Some(text),
            Self::Names { names } => [language, "en"]
                .iter()
                .find_map(|language| names.get(*language))
                .or_else(|| names.values().next()),
            Self::Other(_) => None,
        };
        // The user must see a single line, regardless of the content of the file.
        let text: String = text?
            .chars()
            .filter(|character| !character.is_control())
            .take(LONGEST)
            .collect();
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

impl GeoIp {
    /// Opens the database, if the settings name one.
    ///
    /// # Errors
    /// [`GeoIpError`] if the file cannot be read or has another format.
    pub fn open(file: Option<&Path>) -> Result<Self, GeoIpError> {
        let read = file.map(read).transpose()?.map(Arc::new);
        Ok(Self {
            file: file.map(Path::to_owned),
            read: ArcSwapOption::new(read),
        })
    }

    /// Reads the file again if it changed. If it cannot be read, the loaded database remains in use. Returns whether it
    /// changed.
    ///
    /// # Errors
    /// [`GeoIpError`] if the file cannot be read or has another format.
    pub fn refresh(&self) -> Result<bool, GeoIpError> {
        let Some(file) = &self.file else {
            return Ok(false);
        };
        let stamp = FileStamp::read(file).map_err(|reason| GeoIpError::Unreadable {
            file: file.clone(),
            reason,
        })?;
        if self
            .read
            .load()
            .as_ref()
            .is_some_and(|read| read.stamp == stamp)
        {
            return Ok(false);
        }
        self.read.store(Some(Arc::new(read(file)?)));
        Ok(true)
    }

    /// Returns the location of an address, such as `Linköping, Sweden`, or only its known parts. It is in this language
    /// if the database has it.
    pub fn place_of(&self, address: IpAddr, language: &str) -> Option<String> {
        let read = self.read.load();
        let found = read.as_ref()?.reader.lookup(address).ok()?;
        let Record {
            city,
            country,
            country_name,
        } = found.decode().ok()??;
        let name = |name: &Option<Name>| name.as_ref().and_then(|name| name.text(language));
        let parts: Vec<String> = [name(&city), name(&country_name).or_else(|| name(&country))]
            .into_iter()
            .flatten()
            .collect();
        Some(parts.join(", ")).filter(|place| !place.is_empty())
    }
}

fn read(file: &Path) -> Result<LoadedDatabase, GeoIpError> {
    let unreadable = |reason| GeoIpError::Unreadable {
        file: file.to_owned(),
        reason,
    };
    let stamp = FileStamp::read(file).map_err(unreadable)?;
    let content = std::fs::read(file).map_err(unreadable)?;
    let reader = Reader::from_source(content).map_err(|reason| GeoIpError::NoDatabase {
        file: file.to_owned(),
        reason,
    })?;
    Ok(LoadedDatabase { reader, stamp })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value in the data section of a MaxMind DB file.
    enum Data<'a> {
        Text(&'a str),
        /// A number, with its type number and its length in bytes.
        Number(u8, usize, u64),
        Map(&'a [(&'a str, Data<'a>)]),
        List(&'a [Data<'a>]),
    }
    use Data::{List, Map, Number, Text};

    fn write(value: &Data<'_>, to: &mut Vec<u8>) {
        let small = |length: usize| {
            u8::try_from(length)
                .ok()
                .filter(|length| *length < 29)
                .expect("a short value")
        };
        match value {
            Text(text) => {
                to.push(2 << 5 | small(text.len()));
                to.extend(text.bytes());
            }
            Number(kind, length, number) => {
                if *kind < 8 {
                    to.push(kind << 5 | small(*length));
                } else {
                    to.extend([small(*length), kind - 7]);
                }
                to.extend(&number.to_be_bytes()[8 - length..]);
            }
            Map(members) => {
                to.push(7 << 5 | small(members.len()));
                for (key, member) in *members {
                    write(&Text(key), to);
                    write(member, to);
                }
            }
            List(members) => {
                to.extend([small(members.len()), 11 - 7]);
                members.iter().for_each(|member| write(member, to));
            }
        }
    }

    /// Returns a database in which each address below 128.0.0.0 has this record, and no other address has one.
    fn database(record: &Data<'_>) -> Vec<u8> {
        // The tree has one node. The data begins 16 bytes after it, and the number of the node itself means that there
        // is no record.
        let mut file = vec![0, 0, 1 + 16, 0, 0, 1];
        file.extend([0; 16]);
        write(record, &mut file);
        file.extend(b"\xab\xcd\xefMaxMind.com");
        let about = Map(&[
            ("binary_format_major_version", Number(5, 2, 2)),
            ("binary_format_minor_version", Number(5, 2, 0)),
            ("build_epoch", Number(9, 8, 1_700_000_000)),
            ("database_type", Text("Test")),
            ("description", Map(&[("en", Text("Test"))])),
            ("ip_version", Number(5, 2, 4)),
            ("languages", List(&[Text("en")])),
            ("node_count", Number(6, 4, 1)),
            ("record_size", Number(5, 2, 24)),
        ]);
        write(&about, &mut file);
        file
    }

    fn place(record: &Data<'_>) -> Option<String> {
        place_in("en", record)
    }

    fn place_in(language: &str, record: &Data<'_>) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("places.mmdb");
        std::fs::write(&file, database(record)).unwrap();
        let places = GeoIp::open(Some(&file)).unwrap();
        assert_eq!(places.place_of("203.0.113.9".parse().unwrap(), "en"), None);
        assert_eq!(places.place_of("2001:db8::1".parse().unwrap(), "en"), None);
        places.place_of("1.2.3.4".parse().unwrap(), language)
    }

    #[test]
    fn a_place_contains_its_known_parts() {
        let names = |names| Map(names);
        let [berlin, germany] = [
            [("de", Text("Berlin.")), ("en", Text("Berlin"))],
            [("de", Text("Deutschland")), ("en", Text("Germany"))],
        ];
        let (city, country) = (
            [("names", names(&berlin))],
            [("iso_code", Text("DE")), ("names", names(&germany))],
        );
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(
            place(&Map(&[("city", Map(&city)), ("country", Map(&country))])),
            is("Berlin, Germany")
        );
        assert_eq!(
            place_in(
                "de",
                &Map(&[("city", Map(&city)), ("country", Map(&country))])
            ),
            is("Berlin., Deutschland")
        );
        assert_eq!(
            place_in("ar", &Map(&[("country", Map(&country))])),
            is("Germany")
        );
        assert_eq!(
            place(&Map(&[("city", Text("Berlin")), ("country", Text("DE"))])),
            is("Berlin, DE")
        );
        let flat = [
            ("city", Text("Berlin")),
            ("country", Text("DE")),
            ("country_name", Text("Germany")),
        ];
        assert_eq!(place(&Map(&flat)), is("Berlin, Germany"));
        assert_eq!(
            place(&Map(&[(
                "country",
                Map(&[("names", Map(&[("fr", Text("Suède"))]))])
            )])),
            is("Suède")
        );
        assert_eq!(
            place(&Map(&[("country", Text("a\nb\u{1b}[1m"))])),
            is("ab[1m")
        );
        for nothing in [
            Map(&[]),
            Text("Berlin"),
            Map(&[("city", Number(5, 2, 1))]),
            Map(&[("city", Text("\n"))]),
        ] {
            assert_eq!(place(&nothing), None);
        }
    }

    #[test]
    fn a_changed_database_is_reloaded_and_a_broken_one_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("places.mmdb");
        let error = GeoIp::open(Some(&file)).unwrap_err().to_string();
        assert!(
            error.starts_with("geoip.database_file: ") && error.contains("cannot be read"),
            "{error}"
        );
        std::fs::write(&file, "no database").unwrap();
        let error = GeoIp::open(Some(&file)).unwrap_err().to_string();
        assert!(error.contains("MaxMind DB format"), "{error}");

        let address = "1.2.3.4".parse().unwrap();
        std::fs::write(&file, database(&Map(&[("city", Text("Berlin"))]))).unwrap();
        let places = GeoIp::open(Some(&file)).unwrap();
        assert!(!places.refresh().unwrap());
        std::fs::write(&file, database(&Map(&[("city", Text("Reykjavik"))]))).unwrap();
        assert!(places.refresh().unwrap());
        assert_eq!(places.place_of(address, "en").as_deref(), Some("Reykjavik"));
        std::fs::write(&file, "no database at all").unwrap();
        assert!(places.refresh().is_err());
        assert_eq!(places.place_of(address, "en").as_deref(), Some("Reykjavik"));
        assert_eq!(GeoIp::open(None).unwrap().place_of(address, "en"), None);
    }
}
